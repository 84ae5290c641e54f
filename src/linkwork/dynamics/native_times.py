# SPDX-License-Identifier: BSD-3-Clause
"""Estimated times of methods in native code, of which `auto` takes one.

Operation counts are those of straight-line programs: zeros are left out, and all operations count alike. Native code
computes zeros of dense blocks too, four rows or more at a time, and reads the topology as it goes: an operation of
`lcaba` on a chain of one link takes ten times as long as one of `prox_bbo` where forty rows pass a joint. The time of
one state is estimated as a sum over what a method goes through (`features`), with coefficients fitted to measured
times by ``python -m linkwork_benchmarks.constrained.native_times``, which also says how far estimates are off and what
choosing by them costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm
from linkwork.plans.tree import Tree

ESTIMATED_TO = 0.05
"""Estimates that differ by less, as a part of the least, do not say which method is faster: operations decide."""

PAIRS = {"prox_bbo": "ntiles", "lcaba": "nneighbors", "prox_ltl": "nsupport"}
"""Of what each algorithm has blocks: pairs of four rows that meet, of bodies that are coupled when one is eliminated,
of degrees of freedom on one path to the root."""


class Features(NamedTuple):
    """Amounts of work of a method, and in coefficients the time of each, in microseconds."""

    call: float
    """A call, or an iteration."""
    dof: float
    """A degree of freedom."""
    operation: float
    """An operation that is counted."""
    pair: float
    """One of `PAIRS`."""
    dense: float
    """A step in a dense matrix of all rows: to make and factorize it, or to solve with the factor."""

    def times(self, other: Features) -> float:
        """The sum of products.

        Args:
            other: As many of each.
        """
        return sum(x * y for x, y in zip(self, other, strict=True))


class NativeTime(NamedTuple):
    """Coefficients of an algorithm."""

    first: Features
    further: Features


NATIVE_TIMES: Mapping[str, NativeTime] = MappingProxyType(
    {
        "prox_bbo": NativeTime(
            Features(1.04, 0.0998, 5.53e-05, 0.0413, 0.0), Features(0.0672, 0.0248, 9.99e-05, 0.00688, 0.0)
        ),
        "lcaba": NativeTime(Features(0.992, 0.0964, 0.0, 0.045, 0.0), Features(0.0627, 0.0279, 3.64e-05, 0.00581, 0.0)),
        "prox_ltl": NativeTime(
            Features(1.14, 0.0453, 0.000159, 0.0105, 0.000125), Features(0.00617, 0.00825, 0.000175, 0.0, 0.000631)
        ),
    }
)
"""Times on one core of the machine of the results in `linkwork_benchmarks`: ratios alone matter."""


def features(algorithm: Algorithm, tree: Tree, operations: float, first: bool) -> Features:
    """Amounts of work of a method in an iteration.

    Args:
        algorithm: Of `NATIVE_TIMES`.
        tree: Its plan.
        operations: That are counted.
        first: Whether it is the one that factorizes.
    """
    dense = 0.0
    if ("nc", "nc") in algorithm.work.values():
        dense = tree.nc**2 * (tree.nv / 2 + tree.nc / 6) if first else tree.nc**2
    return Features(1.0, tree.nv, operations, getattr(tree, PAIRS[algorithm.name]), dense)


def native_time(algorithm: Algorithm, tree: Tree, first: int, further: int, iterations: int) -> float:
    """Microseconds of a state in native code, estimated.

    Args:
        algorithm: Of `NATIVE_TIMES`.
        tree: Its plan.
        first: Operations of the first iteration.
        further: Operations of all others.
        iterations: The number of iterations, with the first.
    """
    known, more = NATIVE_TIMES[algorithm.name], iterations - 1
    time = known.first.times(features(algorithm, tree, first, True))
    if more:
        time += more * known.further.times(features(algorithm, tree, further / more, False))
    return time

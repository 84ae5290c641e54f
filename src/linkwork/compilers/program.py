# SPDX-License-Identifier: BSD-3-Clause
"""A program, which is kernel code with the plan of one robot, and a backend, which says how programs are run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from linkwork.compilers.language.fingerprint import fingerprint
from linkwork.compilers.trace.tracing import MAX_OPERATIONS, Trace, trace
from linkwork.errors import SingularMassMatrix
from linkwork.inputs import BackendName, DeviceCode
from linkwork.kernels.algorithm import Algorithm, resolve
from linkwork.plans.tree import Tree, unit_ranges

if TYPE_CHECKING:
    from linkwork.model.model import Model


@dataclass(frozen=True, eq=False)
class Derivation:
    """The derivation of a program from the traces of others, as of derivatives."""

    key: str
    """Version of generated code: with kernels and plans, it names machine code in the cache."""
    sources: tuple[Program, ...]
    """The programs that are traced."""
    trace: Callable[[int], Trace]
    """Makes the straight-line program, of at most so many operations."""


@dataclass(frozen=True)
class Program:
    """An algorithm and the arrays of a plan that it reads, with names of the robot for error messages."""

    algorithm: Algorithm
    tree: Tree
    """The plan: integers and arrays of one robot."""
    units: tuple[tuple[int, int], ...]
    """Where in q, the first input, numbers of unit length start (quaternions, directions), and how many they are;
    none where the first input is something else, as for activations."""
    robot: str
    """Name of the robot."""
    motors: int = 0
    """Number of motors, for the message about torques of motors in place of torques of joints."""
    derivation: Derivation | None = None
    """The sources of a program that has straight-line code alone, and no kernel."""

    @classmethod
    def of_robot(cls, robot: Model, algorithm: Algorithm, tree: Tree) -> Program:
        """The program of an algorithm for a robot.

        Args:
            robot: The mechanism.
            algorithm: Kernel code and the shapes of its arrays.
            tree: The plan of the robot that the algorithm reads.
        """
        motors = len(robot.actuators) or sum(j.type.nv for j in robot.joints if j.actuated)
        units = unit_ranges(robot) if next(iter(algorithm.inputs), "q") == "q" else ()  # those of a configuration
        return cls(algorithm, tree, units, robot.name, motors)

    def input_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of one state's inputs."""
        return [resolve(shape, self.tree) for shape in self.algorithm.inputs.values()]

    def output_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of one state's outputs."""
        return [resolve(shape, self.tree) for shape in self.algorithm.outputs.values()]

    def without_iterations(self) -> Program:
        """A copy that ends after the first iteration."""
        return replace(self, algorithm=replace(self.algorithm, iteration=None, refinement=None))

    def trace(self, limit: int = MAX_OPERATIONS) -> Trace:
        """The straight-line program.

        Args:
            limit: The most operations; `ProgramTooLarge` where there are more.
        """
        from linkwork.compilers.checks import check, located  # which check programs

        check(self)
        try:
            if self.derivation is not None:
                return self.derivation.trace(limit)
            with located(self.algorithm):
                return trace(self.algorithm, self.tree, limit)
        except ZeroDivisionError:  # of numbers of the robot
            raise SingularMassMatrix(
                f"{self.algorithm.name} of '{self.robot}' divides by zero: the inertia that a joint moves is zero, or "
                "rounding beside the largest masses and lengths of the robot. Check units of inertias and placements"
            ) from None

    def content(self) -> tuple[str | bytes, ...]:
        """All that straight-line code depends on, beside the code of the package: parts of its name in the cache."""
        if self.derivation is not None:
            parts = [part for source in self.derivation.sources for part in source.content()]
            return (self.algorithm.name, self.derivation.key, *parts)
        return (self.algorithm.name, *map(fingerprint, self.algorithm.texts), self.plan_bytes())

    def plan_bytes(self) -> bytes:
        """All integers and arrays of the plan that the algorithm reads, on which traced code depends."""
        layout = self.algorithm.layout
        parts = [str([int(getattr(self.tree, name)) for name in layout.sizes]).encode()]
        parts += [np.ascontiguousarray(getattr(self.tree, name)).tobytes() for name in layout.shapes]
        return b"|".join(parts)


@dataclass(frozen=True)
class Backend:
    """The backend of a program, and its number type."""

    name: BackendName = "native"
    """``"plain"``: the Python text itself; ``"native"``: machine code that reads the plan; ``"specialized"``:
    straight-line machine code for one robot; ``"cuda"``: either of these on a GPU."""
    dtype: str = "float64"
    lanes: int | None = None
    """States that share one SIMD register in batches; None: as many as fit this machine."""
    threads: int = 1
    """Threads that share a large batch."""
    max_operations: int = MAX_OPERATIONS
    """The most operations of a specialized program."""
    outputs: tuple[str, ...] | None = None
    """Outputs that are computed on a GPU; None: all."""
    device_code: DeviceCode | None = None
    """On a GPU, ``"specialized"`` or ``"native"`` code; None: native code where a program has more operations."""
    single_for_single: bool = False
    """Whether arguments that are all float32 are computed with in float32."""

    @property
    def straight_line(self) -> Backend:
        """The backend of programs without a kernel: straight-line code in place of native code."""
        return self if self.name in ("plain", "cuda") else replace(self, name="specialized")

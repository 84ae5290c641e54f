# SPDX-License-Identifier: BSD-3-Clause
"""What is measured, as data. A new robot, quantity or backend is one entry here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from linkwork_benchmarks.scenario import NamedScenario

BATCH = 4096
"""States of a batch."""


class Backend(NamedTuple):
    """One backend of linkwork: which code, and how it is called."""

    code: str
    """``"native"`` or ``"specialized"``."""
    call: str
    """``"single"`` (a state a call), ``"bound"`` (the same, through `Evaluator.bind`) or ``"batch"``."""
    dtype: str = "float64"

    @property
    def name(self) -> str:
        """As in the names of metrics: ``specialized.batch4096.float32``."""
        return f"{self.code}.batch{BATCH}.{self.dtype}" if self.call == "batch" else f"{self.code}.{self.call}"


NATIVE, SPECIALIZED, BOUND = (
    Backend("native", "single"),
    Backend("specialized", "single"),
    Backend("specialized", "bound"),
)
NATIVE_BATCH, NATIVE_BATCH32 = Backend("native", "batch"), Backend("native", "batch", "float32")
LANES64, LANES32 = Backend("specialized", "batch"), Backend("specialized", "batch", "float32")

SINGLE = (NATIVE, SPECIALIZED)
IN_FLOAT64 = (*SINGLE, BOUND, NATIVE_BATCH, LANES64)
ALL = (*IN_FLOAT64, LANES32, NATIVE_BATCH32)

PINOCCHIO = ("pinocchio", "pinocchio_world")
PEERS = (*PINOCCHIO, "mujoco")
REFERENCE = "pinocchio.single"
"""What ratios are to: ``pin.aba(model, data, q, v, tau)`` and its like, called from Python as they stand."""


@dataclass(frozen=True)
class Timing(NamedScenario):
    """Time per evaluation of one quantity of one robot: ours and the peers', interleaved."""

    NAME = "{robot}.{quantity}"

    robot: str
    quantity: str
    backends: tuple[Backend, ...] = ALL
    peers: tuple[str, ...] = PEERS


@dataclass(frozen=True)
class Operations(NamedScenario):
    """Exact operation counts of one robot: no clock involved."""

    NAME = "{robot}.operations"

    robot: str
    quantities: tuple[str, ...] = ("forward_dynamics", "inverse_dynamics", "mass_matrix")


@dataclass(frozen=True)
class Startup(NamedScenario):
    """Seconds until compiled forward dynamics has answered once, in processes of their own, cache empty and full."""

    NAME = "{robot}.startup"

    robot: str


@dataclass(frozen=True)
class Threads(NamedScenario):
    """Compiled forward dynamics of a large batch: states a second that one thread and two sustain, in turn.

    (The best of one is the luckiest moment of one core, the best of two needs luck on both: their ratio says little.)
    """

    NAME = "{robot}.threads"

    robot: str
    states: int = 65_536


@dataclass(frozen=True)
class Chains(NamedScenario):
    """Forward dynamics of serial chains: native time per link, and how far specialized programs go."""

    NAME = "chain"

    links: tuple[int, ...]
    specialized: tuple[int, ...]
    refused: tuple[int, ...]


Scenario = Timing | Operations | Startup | Threads | Chains

SCENARIOS: tuple[Scenario, ...] = (
    Timing("talos", "forward_dynamics"),
    Timing("icub", "forward_dynamics", IN_FLOAT64),  # links so light that float32 meets pivots of zero (cond M = 7e11)
    Timing("g1", "forward_dynamics"),
    Timing("simple_humanoid", "forward_dynamics"),
    Timing("anymal_c", "forward_dynamics"),
    Timing("go2", "forward_dynamics"),
    Timing("solo12", "forward_dynamics"),
    Timing("iiwa14", "forward_dynamics"),
    Timing("ur5", "forward_dynamics"),
    Timing("talos", "inverse_dynamics", (*SINGLE, BOUND, NATIVE_BATCH, LANES64), PINOCCHIO[:1]),
    Timing("talos", "mass_matrix", (*SINGLE, BOUND, NATIVE_BATCH, LANES64), PINOCCHIO),
    Timing("ur5", "inverse_dynamics", (*SINGLE, BOUND, NATIVE_BATCH, LANES64), PINOCCHIO[:1]),
    Timing("ur5", "mass_matrix", (*SINGLE, BOUND, NATIVE_BATCH, LANES64), PINOCCHIO),
    *(
        Operations(robot)
        for robot in ("talos", "icub", "g1", "simple_humanoid", "anymal_c", "go2", "solo12", "iiwa14", "ur5")
    ),
    Threads("talos"),
    Threads("go2"),
    Chains(links=(10, 100, 1000), specialized=(10, 100), refused=(1000,)),
    Startup("talos"),
)

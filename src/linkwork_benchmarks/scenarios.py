"""What is measured, as data. A new robot, quantity or way of calling is one entry here."""

from __future__ import annotations

from typing import NamedTuple

BATCH = 4096
"""States of a batch."""


class Way(NamedTuple):
    """One way of calling linkwork."""

    code: str
    """``"native"`` or ``"specialized"``."""
    call: str
    """``"single"`` (a state a call), ``"bound"`` (the same, through `Evaluator.bind`) or ``"batch"``."""
    dtype: str = "float64"

    @property
    def name(self) -> str:
        """As in the names of metrics: ``specialized.batch4096.float32``."""
        return f"{self.code}.batch{BATCH}.{self.dtype}" if self.call == "batch" else f"{self.code}.{self.call}"


NATIVE, SPECIALISED, BOUND = Way("native", "single"), Way("specialized", "single"), Way("specialized", "bound")
NATIVE_BATCH, NATIVE_BATCH32 = Way("native", "batch"), Way("native", "batch", "float32")
LANES64, LANES32 = Way("specialized", "batch"), Way("specialized", "batch", "float32")

SINGLE = (NATIVE, SPECIALISED)
IN_FLOAT64 = (*SINGLE, BOUND, NATIVE_BATCH, LANES64)
ALL = (*IN_FLOAT64, LANES32, NATIVE_BATCH32)

PINOCCHIO = ("pinocchio", "pinocchio_world")
PEERS = (*PINOCCHIO, "mujoco")
REFERENCE = "pinocchio.single"
"""What ratios are to: ``pin.aba(model, data, q, v, tau)`` and its like, called from Python as they stand."""


class Timing(NamedTuple):
    """Time per evaluation of one quantity of one robot: ours and the peers', interleaved."""

    robot: str
    quantity: str
    ways: tuple[Way, ...] = ALL
    peers: tuple[str, ...] = PEERS

    @property
    def name(self) -> str:
        """The beginning of its metrics' names."""
        return f"{self.robot}.{self.quantity}"


class Operations(NamedTuple):
    """Exact operation counts of one robot: no clock involved."""

    robot: str
    quantities: tuple[str, ...] = ("forward_dynamics", "inverse_dynamics", "mass_matrix")

    @property
    def name(self) -> str:
        """What ``--only`` matches."""
        return f"{self.robot}.operations"


class Startup(NamedTuple):
    """Seconds until compiled forward dynamics has answered once, in processes of their own, cache empty and full."""

    robot: str

    @property
    def name(self) -> str:
        """The beginning of its metrics' names."""
        return f"{self.robot}.startup"


class Threads(NamedTuple):
    """Compiled forward dynamics of a large batch: states a second that one thread and two sustain, in turn.

    (The best of one is the luckiest moment of one core, the best of two needs luck on both: their ratio says little.)
    """

    robot: str
    states: int = 65_536

    @property
    def name(self) -> str:
        """The beginning of its metrics' names."""
        return f"{self.robot}.threads"


class Chains(NamedTuple):
    """Forward dynamics of serial chains: native time per link, and how far specialized programs go."""

    links: tuple[int, ...]
    specialized: tuple[int, ...]
    refused: tuple[int, ...]

    @property
    def name(self) -> str:
        """What ``--only`` matches."""
        return "chain"


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

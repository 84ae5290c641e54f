"""The entry point to inverse dynamics: the torques that make a robot, open or closed, accelerate as asked.

In a tree there is one answer. In a mechanism with loops ``M a + c = tau + p + J' lambda``, ``p`` the torques of springs
and dampers, leaves a choice: which joints push, and which forces their constraints then carry. With ``G`` the explicit
form of the constraints, torques that do the same satisfy ``G' tau = G' (M a + c - p)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.closure.coordinates import Tied, clustered, not_a_transmission, ties_of
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.inputs import InverseMethod
from linkwork.kernels import actuated, approximate, cluster_rnea, rnea
from linkwork.kernels.actuated import ERROR, REQUIRED, UNMET
from linkwork.model.arrays import Floats
from linkwork.model.model import Model
from linkwork.model.notebook import state_tables
from linkwork.plans.actuated import actuated_tree
from linkwork.plans.tree import Tree, tree_of, without_passive_elements
from linkwork.quantities.evaluator import Array

_empty = np.empty

METHODS: Mapping[str, str] = {
    "rnea": "every joint of the tree; knows no constraints",
    "cluster": "the independent joints alone push (C-RNEA)",
    "actuated": "the actuated joints alone push, with the smallest torques",
    "least": "all joints push, with the smallest torques",
    "approximate": "the independent joints push, dependent bodies being left out but for the inertia they reflect",
}
"""Methods of inverse dynamics, and who pushes."""

CLOSED = 1e-9
"""Errors of constraints below this are those of a closed pose."""
UNREACHABLE = 1e-9
"""What actuated joints may leave undone of the generalized forces, as a part of them."""
UNREACHABLE_SINGLE = 1e-4
"""The same in single precision."""
RANK_TOLERANCE = 1e-10
"""Motions that those who push cause by less than this part of the largest are rounding."""
RANK_TOLERANCE_SINGLE = 1e-5
"""The same in single precision."""


@dataclass(frozen=True)
class InverseSolution:
    """What inverse dynamics found. Leading axes are those of the batch."""

    torque: Array
    """Torques of all joints, ``(..., nv)``."""
    acceleration: Array
    """The accelerations they make: those asked of the independent joints, and what the others then do."""
    multipliers: Array
    """Forces of all constraints in a row, ``(..., nc)``; of those that do the same, the smallest."""
    robot: Model = field(repr=False)

    @property
    def forces(self) -> Mapping[str, Array]:
        """Forces of the constraints by name, as in `Solution.forces`."""
        return {c.name: self.multipliers[..., self.robot.row_slice(c.name)] for c in self.robot.constraints}

    @property
    def beyond_limits(self) -> Mapping[str, Array]:
        """Joints that are asked for more than their motors have, and by how much at most, ``(...)``: N m or N.

        Empty where limits are kept. Limits are those of `torque_limits`.
        """
        lower, upper = torque_limits(self.robot)
        over = np.maximum(np.maximum(self.torque - upper, lower - self.torque), 0.0)
        found = {}
        for joint in self.robot.joints:
            most: Array = np.max(over[..., self.robot.v_slice(joint.name)], axis=-1, initial=0.0)
            if np.any(most > 0.0):
                found[joint.name] = most
        return found

    def _repr_html_(self) -> str:
        joints = {"torque": self.torque, "acceleration": self.acceleration}
        return state_tables("Inverse dynamics", self.robot, joints, {"force": self.multipliers})


def torque_limits(robot: Model) -> tuple[Floats, Floats]:
    """The least and the largest torques of all joints, ``(nv,)`` each; infinite where nothing limits them.

    They are within the joint's effort limits and, where actuators drive a joint, within what their commands can make.
    """
    lower, upper = -robot.effort_limit, robot.effort_limit
    for name in {a.joint for a in robot.actuators}:
        at = robot.v_slice(name)
        least, most = np.zeros(at.stop - at.start), np.zeros(at.stop - at.start)
        for actuator in (a for a in robot.actuators if a.joint == name):
            for k, gear in enumerate(actuator.gear):
                ends = (gear * actuator.limits[0], gear * actuator.limits[1]) if gear else (0.0, 0.0)
                least[k] += min(ends)
                most[k] += max(ends)
        lower[at], upper[at] = np.maximum(lower[at], least), np.minimum(upper[at], most)
    return lower, upper


def driven_dofs(robot: Model) -> npt.NDArray[np.intp]:
    """The degrees of freedom of joints with a motor, in the order of ``v``."""
    names = {a.joint for a in robot.actuators} | {j.name for j in robot.joints if j.actuated}
    at = [k for j in robot.joints if j.name in names for k in range(*robot.v_slice(j.name).indices(robot.nv))]
    return np.array(at, dtype=np.intp)


class InverseDynamics(Tied):
    """Torques that make a robot accelerate as asked: ``tau = id(q, v, a)``.

    All methods but `rnea` know the robot's constraints: of ``a`` they take what is asked of the independent joints, and
    the others follow. `solve` gives the forces of constraints as well (none by `approximate`, which is not exact).

    Where loops are a little open, rows that repeat others in closed ones do not do so quite. Here, as in `cluster` of
    `ForwardDynamics`, they bind no more for it; other forward methods obey what is left of them as well.

    Args:
        robot: The mechanism.
        method: Who pushes, see `METHODS`.
        passive: Springs and dampers of joints do their part (`passive_forces`), as in `simulate`: torques are what is
            left for motors. Without, they are ``M a + c`` alone. Gravity compensation of MJCF files is not among them:
            take `gravity_compensation` off as well.
        wrenches: Names of the frames that external wrenches act on, as for `ForwardDynamics`.
        threads: How many share a large batch.
    """

    def __init__(
        self,
        robot: Model,
        method: InverseMethod = "rnea",
        *,
        passive: bool = True,
        wrenches: Sequence[str] = (),
        threads: int | None = None,
    ) -> None:
        if not isinstance(robot, Model):
            raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
        if method not in METHODS:
            raise InputError(f"no method {method!r}; there are {', '.join(METHODS)}")
        self.method = method
        self.passive = bool(passive)
        self._spreads = method in ("actuated", "least")
        self._nv = robot.nv
        tree = self._tree(robot, self._frames(wrenches))
        if not self.passive:
            tree = without_passive_elements(tree)
        algorithm = {
            "rnea": rnea.RNEA,
            "cluster": cluster_rnea.CLUSTER_RNEA,
            "approximate": approximate.APPROXIMATE_RNEA,
        }.get(method, actuated.ACTUATED_RNEA)
        self._prepare(robot, "inverse_dynamics", algorithm, tree, wrenches, threads)

    def _tree(self, robot: Model, frames: tuple[str, ...]) -> Tree:
        """The arrays that the method reads."""
        match self.method:
            case "rnea":
                return tree_of(robot, frames)
            case "actuated":
                pushes = driven_dofs(robot)
                if not len(pushes):
                    raise UnsupportedFeature(
                        f"robot '{robot.name}' has no actuated joint; mark some, or use method 'least'"
                    )
                return actuated_tree(robot, frames, ties_of(robot), set(pushes.tolist()))
            case "least":
                return actuated_tree(robot, frames, ties_of(robot), set(range(robot.nv)))
            case "approximate" if (reason := not_a_transmission(robot)) is not None:
                raise UnsupportedFeature(f"approximate cannot serve '{robot.name}': {reason}")
        return clustered(robot, frames)

    def _be(self, runner: Any, dtype: str) -> None:
        super()._be(runner, dtype)
        single = dtype == "float32"
        self._tolerance = np.array([RANK_TOLERANCE_SINGLE if single else RANK_TOLERANCE], dtype=dtype)
        self._settings = (self._tolerance,) if self._spreads else ()

    def __call__(  # type: ignore[override]
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """Torques of all joints, ``(..., nv)``. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            a: Accelerations to make, ``(..., nv)``.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
            out: Array to write the result to; by default a new one.
        """
        if self.method != "rnea":
            tau: Array = self.determined((q, v, a, self._rest if wrenches is None else wrenches, *self._settings), out)[
                0
            ]
            return tau
        tau = _empty(self._nv, self._dtype) if out is None else out
        if out is None or (type(tau) is np.ndarray and tau.ndim == 1):
            if not self._entry(q, v, a, self._rest if wrenches is None else wrenches, tau):
                return tau
        typed = self._in_type_of((q, v, a, wrenches, out))
        return typed._runner.evaluate(typed._complete((q, v, a, wrenches)), [out])[0]

    def solve(
        self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike, wrenches: npt.ArrayLike | None = None
    ) -> InverseSolution:
        """Torques, the accelerations they make, and the forces of constraints.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            a: Accelerations to make, ``(..., nv)``.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
        """
        if self.method == "rnea":
            raise UnsupportedFeature("rnea knows no constraints: choose method 'cluster', 'actuated' or 'least'")
        pushed = self._rest if wrenches is None else wrenches
        tau, full, multipliers = self.determined((q, v, a, pushed, *self._settings))
        return InverseSolution(tau, full, multipliers, self.robot)

    def _complete(self, inputs: Sequence[npt.ArrayLike | None]) -> list[npt.ArrayLike]:
        given: list[Any] = list(inputs)
        if self._spreads and len(given) in (3, 4):
            return [*given[:3], self._rest if len(given) == 3 or given[3] is None else given[3], *self._settings]
        if self._spreads:
            raise InputError(f"inverse_dynamics takes q, v, a, wrenches; {len(given)} arguments were given")
        return super()._complete(inputs)

    def _verification(self, alone: bool) -> Any:
        return None if self.method == "rnea" else self._verify

    def _verify(self, last: Array) -> None:
        """An error where the free joints do not determine the others, or those who push leave something undone."""
        super()._verify(last)
        if not self._spreads:
            return
        allowed = UNREACHABLE if self._dtype == np.float64 else UNREACHABLE_SINGLE
        if last.ndim == 1 and last[UNMET] <= allowed * last[REQUIRED]:  # the quick way for one state
            return
        worst = last[..., UNMET]
        bad = worst > allowed * last[..., REQUIRED]
        if bad.any():
            gap = float(last[..., ERROR][bad].max())
            raise UnsupportedFeature(
                f"the actuated joints of '{self.robot.name}' cannot make these accelerations: "
                f"{worst[bad].max():.3g} N m are missing; the robot has unactuated degrees of freedom"
                + (f", and its loops are open by {gap:.3g}: close them first, with assemble" if gap > CLOSED else "")
            )

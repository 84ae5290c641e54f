"""The front door to inverse dynamics: the torques that make a robot, open or closed, accelerate as asked.

In a tree there is one answer. In a mechanism with loops ``M a + c = tau + J' lambda`` leaves a choice: which joints
push, and which forces their constraints then carry. With ``G`` the explicit form of the constraints, torques that do
the same satisfy ``G' tau = G' (M a + c)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from linkwork.algorithms import clusters, rnea
from linkwork.coordinates import Tied, clustered, not_a_transmission, tied_dofs
from linkwork.dynamics import Array, constraint_jacobian
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.plans.clusters import enabled_rows
from linkwork.plans.tree import tree_of

_empty = np.empty

METHODS: Mapping[str, str] = {
    "rnea": "every joint of the tree; knows no constraints",
    "cluster": "the independent joints alone push (C-RNEA)",
    "actuated": "the actuated joints alone push, with the smallest torques",
    "least": "all joints push, with the smallest torques",
    "approximate": "the independent joints push, dependent bodies being left out but for the inertia they reflect",
}
"""Methods of inverse dynamics, and who pushes."""

UNREACHABLE = 1e-9
"""What actuated joints may leave undone of the generalised forces, as a part of them."""
UNREACHABLE_SINGLE = 1e-4
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
    robot: Mechanism = field(repr=False)

    @property
    def forces(self) -> Mapping[str, Array]:
        """Forces of the constraints by name, as in `Solution.forces`."""
        return {c.name: self.multipliers[..., self.robot.row_slice(c.name)] for c in self.robot.constraints}


class InverseDynamics(Tied):
    """Torques that make a robot accelerate as asked: ``tau = id(q, v, a)``.

    ``method`` says who pushes, see `METHODS`. All but `rnea` know the robot's constraints: of ``a`` they take what is
    asked of the independent joints, and the others follow. `solve` gives the forces of constraints as well (none by
    `approximate`, which is not exact).
    ``wrenches`` names the frames that external wrenches act on, as for `ForwardDynamics`.
    """

    def __init__(
        self, robot: Mechanism, method: str = "rnea", *, wrenches: Sequence[str] = (), threads: int | None = None
    ) -> None:
        if not isinstance(robot, Mechanism):
            raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
        if method not in METHODS:
            raise InputError(f"no method {method!r}; there are {', '.join(METHODS)}")
        self.method = method
        if method == "rnea":
            self._prepare(
                robot, "inverse_dynamics", rnea.RNEA, tree_of(robot, self._frames(wrenches)), wrenches, threads
            )
        else:
            tree = clustered(robot, self._frames(wrenches))
            algorithm = clusters.CLUSTER_RNEA
            if method == "approximate":
                algorithm = clusters.APPROXIMATE_RNEA
                reason = not_a_transmission(robot)
                if reason is not None:
                    raise UnsupportedFeature(f"approximate cannot serve '{robot.name}': {reason}")
            self._prepare(robot, "inverse_dynamics", algorithm, tree, wrenches, threads)
        self._pushes = self._pushing(robot, method)
        self._nv = robot.nv

    @staticmethod
    def _pushing(robot: Mechanism, method: str) -> npt.NDArray[np.intp]:
        """The degrees of freedom that push."""
        if method == "actuated":
            names = {a.joint for a in robot.actuators} | {j.name for j in robot.joints if j.actuated}
            at = [k for j in robot.joints if j.name in names for k in range(*robot.v_slice(j.name).indices(robot.nv))]
            if not at:
                raise UnsupportedFeature(
                    f"robot '{robot.name}' has no actuated joint; mark some, or use method 'least'"
                )
            return np.array(at, dtype=np.intp)
        if method in ("cluster", "approximate"):
            tied = tied_dofs(robot)
            return np.array([k for k in range(robot.nv) if k not in tied], dtype=np.intp)
        return np.arange(robot.nv)

    def __call__(  # type: ignore[override]
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        a: npt.ArrayLike,
        wrenches: npt.ArrayLike | None = None,
        *,
        out: Array | None = None,
    ) -> Array:
        """Torques ``(..., nv)`` for ``q: (..., nq)``, ``v: (..., nv)``, ``a: (..., nv)``."""
        if self.method != "rnea":
            if self.method in ("actuated", "least"):
                tau = self.solve(q, v, a, wrenches).torque
            else:
                tau = self.determined((q, v, a, self._rest if wrenches is None else wrenches))[0]
            if out is None:
                return tau
            if not isinstance(out, np.ndarray) or out.shape != tau.shape:
                raise InputError(f"out for tau has shape {np.shape(out)}, needs {tau.shape}")
            out[...] = tau
            return out
        tau = _empty(self._nv, self._dtype) if out is None else out
        if out is None or (type(tau) is np.ndarray and tau.ndim == 1):
            if not self._door(q, v, a, self._rest if wrenches is None else wrenches, tau):
                return tau
        return self._runner.evaluate(self._complete((q, v, a, wrenches)), [out])[0]

    def bind(self, *inputs: Array, out: Array | Sequence[Array]) -> Callable[[], None]:
        """A call without arguments; see `Evaluator.bind`. Not for `actuated` and `least`, which NumPy completes."""
        if self.method in ("actuated", "least"):
            raise UnsupportedFeature(f"{self.method} is completed in NumPy: there is nothing to bind")
        return super().bind(*inputs, out=out)

    def solve(
        self, q: npt.ArrayLike, v: npt.ArrayLike, a: npt.ArrayLike, wrenches: npt.ArrayLike | None = None
    ) -> InverseSolution:
        """Torques, the accelerations they make, and the forces of constraints."""
        if self.method == "rnea":
            raise UnsupportedFeature("rnea knows no constraints: choose method 'cluster', 'actuated' or 'least'")
        pushed = self._rest if wrenches is None else wrenches
        tau, full, multipliers = self.determined((q, v, a, pushed))
        if self.method in ("actuated", "least"):
            tau, multipliers = self._spread(q, tau, multipliers)
        return InverseSolution(tau, full, multipliers, self.robot)

    def _spread(self, q: npt.ArrayLike, tau: Array, multipliers: Array) -> tuple[Array, Array]:
        """The smallest torques of those who push that do what ``tau`` does, and the constraints' forces then."""
        J = constraint_jacobian(self.robot, q)
        on = np.zeros((self.robot.nc, 1), dtype=bool)
        on[enabled_rows(self.robot)] = True
        J = np.where(on, J, 0.0)
        # What pushes and what constraints carry: the smallest torques with tau' + J' forces = tau + J' multipliers.
        idle = np.eye(self.robot.nv) - np.linalg.pinv(J, rcond=1e-10) @ J  # on motions that constraints allow
        some = idle[..., :, self._pushes]
        found = (np.linalg.pinv(some, rcond=1e-10) @ (idle @ tau[..., None]))[..., 0]
        torque = np.zeros_like(tau)
        torque[..., self._pushes] = found
        rest = tau - torque + (np.swapaxes(J, -1, -2) @ multipliers[..., None])[..., 0]
        undone = (idle @ (tau - torque)[..., None])[..., 0]
        worst = np.abs(undone).max(axis=-1, initial=0.0)
        allowed = UNREACHABLE if self._dtype == np.float64 else UNREACHABLE_SINGLE
        if (worst > allowed * np.maximum(1.0, np.abs(tau).max(axis=-1, initial=0.0))).any():
            raise UnsupportedFeature(
                f"the actuated joints of '{self.robot.name}' cannot make these accelerations: "
                f"{np.max(worst):.3g} N m are missing; the robot has unactuated degrees of freedom"
            )
        forces = (np.linalg.pinv(np.swapaxes(J, -1, -2), rcond=1e-10) @ rest[..., None])[..., 0]
        return torque, forces

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
from linkwork.coordinates import CLOSED, Tied, bound_dofs, clustered, not_a_transmission, tied_dofs
from linkwork.dynamics import Array, constraint_error, constraint_jacobian
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.literals import InverseMethod
from linkwork.mechanism import Mechanism
from linkwork.notebook import state_tables
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
OPEN = 10.0
"""Motions that actuated joints cause by less than so many times what loops are open by, they are taken not to cause."""


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

    def _repr_html_(self) -> str:
        joints = {"torque": self.torque, "acceleration": self.acceleration}
        return state_tables("Inverse dynamics", self.robot, joints, {"force": self.multipliers})


class InverseDynamics(Tied):
    """Torques that make a robot accelerate as asked: ``tau = id(q, v, a)``.

    All methods but ``"rnea"`` know the robot's constraints: of ``a`` they take what is asked of the independent joints,
    and the others follow. `solve` gives the forces of constraints as well (none by ``"approximate"``, which is not
    exact).

    Where loops are a little open, rows that repeat others in closed ones do not do so quite. Here, as in `cluster` of
    `ForwardDynamics`, they bind no more for it; other forward methods obey what is left of them as well.

    Args:
        robot: The mechanism.
        method: Who pushes: ``"rnea"`` every joint of the tree, without constraints; ``"cluster"`` the independent
            joints; ``"actuated"`` the actuated ones and ``"least"`` all, with the smallest torques; ``"approximate"``
            the independent ones, dependent bodies being left out but for the inertia they reflect.
        wrenches: Frames that external wrenches act on, as for `ForwardDynamics`.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    def __init__(
        self,
        robot: Mechanism,
        method: InverseMethod = "rnea",
        *,
        wrenches: Sequence[str] = (),
        threads: int | None = None,
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
        if method in ("actuated", "least"):
            self._bound, self._tied = bound_dofs(robot), np.array(sorted(tied_dofs(robot)), dtype=np.intp)
            self._free = np.delete(np.arange(robot.nv), self._tied)

    @staticmethod
    def _pushing(robot: Mechanism, method: InverseMethod) -> npt.NDArray[np.intp]:
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
        """Torques of all joints, ``(..., nv)``. Leading axes are batch axes and broadcast.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            a: Accelerations to make, ``(..., nv)``.
            wrenches: External wrenches on the frames that were named, ``(..., frames, 6)``; by default none.
            out: Array to write the result to; by default a new one.
        """
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
            if not self._entry(q, v, a, self._rest if wrenches is None else wrenches, tau):
                return tau
        typed = self._in_type_of((q, v, a, wrenches, out))
        return typed._runner.evaluate(typed._complete((q, v, a, wrenches)), [out])[0]

    def bind(self, *inputs: Array, out: Array | Sequence[Array]) -> Callable[[], None]:
        """A call without arguments; see `Evaluator.bind`. Not for `actuated` and `least`, which NumPy completes.

        Args:
            inputs: ``q``, ``v``, ``a`` and, where frames were named, wrenches.
            out: Arrays that every call writes, as for `Evaluator.bind`.
        """
        if self.method in ("actuated", "least"):
            raise UnsupportedFeature(f"{self.method} is completed in NumPy: there is nothing to bind")
        return super().bind(*inputs, out=out)

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
        tau, full, multipliers = self.determined((q, v, a, pushed))
        if self.method in ("actuated", "least"):
            tau, multipliers = self._spread(q, tau, multipliers)
        return InverseSolution(tau, full, multipliers, self.robot)

    def _spread(self, q: npt.ArrayLike, tau: Array, multipliers: Array) -> tuple[Array, Array]:
        """The smallest torques of those who push that do what ``tau`` does, and the constraints' forces then.

        Rows on tied and free joints of their clusters, ``J = [Jt Jf]``, make ``G = [-Jt^+ Jf; 1]``, as C-RNEA has it:
        of rows that repeat others in closed loops only, no small differences count as rows where loops are open.
        Torques do the same if ``G' tau' = G' tau``; what tied joints then lack, ``Jt'`` times forces makes up.
        """
        free, tied = self._free, self._tied
        J = np.where(self._bound, constraint_jacobian(self.robot, q), 0.0)
        inverse = np.linalg.pinv(J[..., tied], rcond=1e-10)
        G = np.empty((*J.shape[:-2], self.robot.nv, len(free)))
        G[..., free, :] = np.eye(len(free))
        G[..., tied, :] = -(inverse @ J[..., free])
        GT = np.swapaxes(G, -1, -2)
        open_by = np.abs(np.where(self._bound.any(axis=-1), constraint_error(self.robot, q), 0.0)).max(-1, initial=0.0)
        able = np.linalg.pinv(GT[..., self._pushes], rcond=np.maximum(1e-10, OPEN * open_by))
        torque = np.zeros_like(tau)
        torque[..., self._pushes] = (able @ (GT @ tau[..., None]))[..., 0]
        self._check_reached((GT @ (tau - torque)[..., None])[..., 0], tau, open_by)
        carried = np.swapaxes(inverse, -1, -2) @ (tau - torque)[..., tied, None]
        return torque, multipliers + carried[..., 0]

    def _check_reached(self, undone: Array, tau: Array, open_by: Array) -> None:
        """An error where those who push leave something undone."""
        worst = np.abs(undone).max(axis=-1, initial=0.0)
        allowed = UNREACHABLE if self._dtype == np.float64 else UNREACHABLE_SINGLE
        bad = worst > allowed * np.maximum(1.0, np.abs(tau).max(axis=-1, initial=0.0))
        if not bad.any():
            return
        gap = float(np.broadcast_to(open_by, bad.shape)[bad].max())
        raise UnsupportedFeature(
            f"the actuated joints of '{self.robot.name}' cannot make these accelerations: "
            f"{worst[bad].max():.3g} N m are missing; the robot has unactuated degrees of freedom"
            + (f", and its loops are open by {gap:.3g}: close them first, with assemble" if gap > CLOSED else "")
        )

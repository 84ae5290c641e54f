# SPDX-License-Identifier: BSD-3-Clause
"""`Mechanism`, the class that users hold: a model, and the operations on it that need the packages above the model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from linkwork.conversions import converted
from linkwork.errors import InputError
from linkwork.inputs import finite_floats, named_options, plural
from linkwork.mechanism.showing import Shown
from linkwork.model.arrays import Floats
from linkwork.model.constraints import Constraint
from linkwork.model.model import Model
from linkwork.model.poses import default_configuration
from linkwork.model.validation import check_are_constraints

if TYPE_CHECKING:
    import os

    from matplotlib.figure import Figure

    from linkwork.closure.actuation import Actuation
    from linkwork.closure.inverse_kinematics import InverseKinematicsSolution
    from linkwork.closure.mobility import Mobility
    from linkwork.closure.random_states import RandomStates
    from linkwork.closure.tasks import Task
    from linkwork.dynamics.equilibrium import Equilibrium
    from linkwork.inputs import Auto, ForwardMethod, JointProperty, Reference
    from linkwork.mechanism.optimization import Progress
    from linkwork.mechanism.optimized import Optimized
    from linkwork.quantities.terms import Terms
    from linkwork.saving import DialectName, Droppable, Format
    from linkwork.simulation import Sweep


class Mechanism(Shown):
    """A robot: bodies connected by joints into a tree, and constraints that close its loops. Immutable.

    Made by `load`, `Builder`, `compose`, `attach` and the functions of `zoo`. Joint ``k`` leads to body ``k``; bodies
    are ordered so that parents come first. A body moves with the frame of its joint, in which its inertia is given.

    Its fields and the methods that use them alone (configurations, names, limits) are those of `model.model.Model`,
    those that give a changed copy of `Changeable`, those for a browser of `Shown`; the methods here assemble loops,
    sweep joints, find equilibria and draw.
    """

    @classmethod
    def of(cls, model: Model) -> Self:
        """The mechanism of a model.

        Args:
            model: Bodies, joints, frames and constraints.
        """
        return cls(**{f.name: getattr(model, f.name) for f in fields(model) if f.init})

    def constrained(self, *constraints: Constraint, at: npt.ArrayLike | None = None) -> Self:
        """A new mechanism with these constraints added; this one is unchanged.

        With ``at``, a configuration, constraints are changed so that they hold there:
        ``robot.constrained(lw.constraints.Point("world", "left_foot"), at=q)`` holds the foot where it is. Of two
        frames, the one on the world is put where the other is, whichever of the two is first; between two bodies the
        second is put where the first is. Where one of ``first_at`` and ``second_at`` was given a position, that one
        stays and the other is put there. An ``axis`` keeps its direction in the first place, and ``second_axis``
        follows; frames that may not turn against each other get the axes of the first, or of the second if only
        ``second_at`` was turned. `Rod` takes its length, `Rolling` the height of its plane, and constraints on joints
        the values that they have there.

        Args:
            constraints: Those to add.
            at: Configuration, ``(nq,)``, at which they are to hold; by default they are taken as they are.
        """
        if at is not None:
            from linkwork.closure.capture import captured

            check_are_constraints(self, constraints)
            constraints = captured(self, constraints, at)
        return super().constrained(*constraints)

    def assemble(
        self,
        q: npt.ArrayLike | Mapping[str, npt.ArrayLike] | None = None,
        fixed: Sequence[str] = (),
        *,
        tolerance: float | None = None,
        max_iterations: int = 200,
        attempts: int = 20,
        seed: int = 0,
        limits: bool = True,
    ) -> Floats:
        """Configurations near ``q``, ``(..., nq)``, at which all loops are closed; see `closure.assemble`.

        Args:
            q: Configurations to start from, ``(..., nq)``, or coordinates by joint; those left out, and by default
                all, are those of `neutral`.
            fixed: Joints that stay where they are.
            tolerance: Largest error of a row.
            max_iterations: The most iterations of each attempt.
            attempts: Number of further starts from a random configuration near ``q``.
            seed: Of the random numbers.
            limits: Whether joint limits hold.
        """
        from linkwork.closure.assembly import problem_of
        from linkwork.closure.assembly_problem import Search

        if isinstance(q, Mapping):
            q = self._configuration(q)
        search = Search(tolerance, max_iterations, attempts, seed)
        return problem_of(self, fixed, limits).closed(self.neutral() if q is None else q, search)

    def _configuration(self, coordinates: Mapping[str, npt.ArrayLike]) -> Floats:
        """A configuration from coordinates by joint; the others are neutral."""
        q = np.array(self.neutral())
        for name, coordinate in coordinates.items():
            at, x = self.q_slice(name), finite_floats(coordinate, f"q of joint '{name}'").reshape(-1)
            if len(x) != at.stop - at.start:
                raise InputError(f"q of joint '{name}' has {plural(len(x), 'number')}, needs {at.stop - at.start}")
            q[at] = x
        return q

    @converted
    def inverse_kinematics(
        self,
        *tasks: Task,
        q: npt.ArrayLike | None = None,
        fixed: Sequence[str] = (),
        limits: bool = True,
        tolerance: float = 1e-9,
        max_iterations: int = 100,
        attempts: int = 20,
        seed: int = 0,
    ) -> InverseKinematicsSolution:
        """Configurations that bring frames or the center of mass to targets, with loops closed and within limits.

        Errors of targets, by their weights, are made as small as loops and limits allow. A target out of reach is no
        error: ``converged`` is False then, and ``message`` says more. See `closure.inverse_kinematics`.

        Args:
            tasks: `FrameTask`, `CenterOfMassTask`, and at most one `PostureTask`.
            q: Where to start, ``(..., nq)``; by default the posture, the pose ``"assembled"`` or `neutral`.
            fixed: Joints that stay where they are.
            limits: Whether joint limits hold.
            tolerance: A target is met where errors are below it, in rad and lengths of the robot.
            max_iterations: The most iterations of each attempt.
            attempts: Number of starts, from the second on nearer to a random configuration each time.
            seed: Of the random numbers.
        """
        from linkwork.closure.inverse_kinematics import inverse_kinematics

        return inverse_kinematics(
            self,
            *tasks,
            q=q,
            fixed=fixed,
            limits=limits,
            tolerance=tolerance,
            max_iterations=max_iterations,
            attempts=attempts,
            seed=seed,
        )

    @converted
    def sweep(
        self,
        joints: str | Sequence[str],
        values: npt.ArrayLike,
        q: npt.ArrayLike | None = None,
        *,
        seconds: float = 5.0,
        tolerance: float = 1e-12,
        limits: bool = True,
    ) -> Sweep:
        """Closed configurations over the values of a joint, ``(k,)``, or of several, ``(k, joints)``.

        Each is continued from the one before. The result is plotted and played as a `Trajectory` is. An
        `AssemblyError` says at which value loops cannot follow; see `simulation.sweep.sweep`.

        Args:
            joints: A joint with one coordinate, or several that move together.
            values: Where they are to be, in radians or meters.
            q: A configuration near the first one, ``(nq,)``; by default the assembled or neutral one.
            seconds: Duration of playback.
            tolerance: Loops with errors below this are closed.
            limits: Whether the other joints stay within their limits.
        """
        from linkwork.simulation.sweep import sweep

        return sweep(self, joints, values, q, seconds=seconds, tolerance=tolerance, limits=limits)

    def project_velocity(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
        """The velocity nearest to ``v`` that all constraints allow; see `closure.evaluators`.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
        """
        from linkwork.closure.evaluators import project_velocity

        return project_velocity(self, q, v)

    @converted
    def random_states(
        self, seed: int | np.random.Generator, size: int | Sequence[int] = (), speed: float = 1.0
    ) -> RandomStates:
        """Random states ``q, v`` within the limits, all loops closed, moving as the loops allow.

        Configurations are those of `random`, put together by `assemble`; those that do not close are drawn again.
        Velocities are normal numbers, projected on the constraints (`project_velocity`), and scaled down where one is
        beyond its limit.

        Args:
            seed: Of the random numbers, or their generator.
            size: Shape of a batch: ``robot.random_states(0, 4096)``.
            speed: Standard deviation of velocities before they are projected, in rad/s or m/s.
        """
        from linkwork.closure.random_states import random_states

        return random_states(self, seed, size, speed)

    def integrate(self, q: npt.ArrayLike, v: npt.ArrayLike) -> Floats:
        """Move ``q`` along the velocity ``v`` for one second, ``(..., nq)``: ``q + v`` on the joints' manifolds.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
        """
        from linkwork.quantities.functions import evaluator_of

        result: Floats = evaluator_of(self, "integrate")(q, v)
        return result

    def difference(self, q: npt.ArrayLike, p: npt.ArrayLike) -> Floats:
        """The velocity that leads from ``q`` to ``p`` in one second, ``(..., nv)``.

        Args:
            q: Configuration to start from, ``(..., nq)``.
            p: Configuration to reach, ``(..., nq)``.
        """
        from linkwork.quantities.functions import evaluator_of

        result: Floats = evaluator_of(self, "difference")(q, p)
        return result

    def terms(
        self,
        q: npt.ArrayLike,
        v: npt.ArrayLike,
        frames: str | Sequence[str] = (),
        reference: Reference = "local",
    ) -> Terms:
        """Mass matrix, bias and gravity torques, energies, momentum, frames and how they move, loops; see `terms`.

        Args:
            q: Configuration, ``(..., nq)``.
            v: Joint velocities, ``(..., nv)``.
            frames: Names of frames or bodies.
            reference: Axes of the frames' Jacobians.
        """
        from linkwork.quantities.terms import terms

        return terms(self, q, v, frames, reference)

    def mobility(self, q: npt.ArrayLike | None = None) -> Mobility:
        """Degrees of freedom at ``q``, and redundant constraints; see `mobility.mobility`.

        Args:
            q: Configuration, ``(nq,)``, with closed loops; by default the pose ``assembled``, else ``qpos0``, in which
                an MJCF file is drawn, else the neutral one.
        """
        from linkwork.closure.mobility import mobility

        return mobility(self, default_configuration(self) if q is None else q)

    @converted
    def equilibrium(self, q: npt.ArrayLike | None = None, *, max_iterations: int = 100) -> Equilibrium:
        """The static pose nearest to ``q`` and the motors' torques there; see `equilibrium.equilibrium`.

        Args:
            q: Configuration to start from, ``(nq,)``; by default the assembled or neutral pose.
            max_iterations: The most iterations.
        """
        from linkwork.dynamics.equilibrium import equilibrium

        return equilibrium(self, q, max_iterations=max_iterations)

    @converted
    def actuation(
        self,
        q: npt.ArrayLike,
        motors: Sequence[str] | None = None,
        joints: Sequence[str] | None = None,
        held: Sequence[str] | None = None,
    ) -> Actuation:
        """Transmission ratios from motors through linkages at ``q``, and torques; see `coordinates.actuation`.

        Args:
            q: Configuration, ``(..., nq)``, with closed loops.
            motors: Joints that drive; by default the actuated ones in clusters.
            joints: Joints that are driven; by default all that motors determine.
            held: Joints taken to stand still; by default those with a spring.
        """
        from linkwork.closure.actuation import actuation

        return actuation(self, q, motors, joints, held)

    @converted
    def optimized(
        self,
        method: ForwardMethod | Auto = "auto",
        *,
        cuts: bool = True,
        root: bool = False,
        ends: bool = False,
        orders: bool = True,
        keep: Collection[str] = (),
        drop: Collection[JointProperty] = (),
        seconds: float = 10.0,
        progress: Progress | None = None,
    ) -> Optimized:
        """This mechanism on its best spanning tree, by exact operation counts of forward dynamics, and the gain.

        Which joint of a loop is the constraint is a choice, as are the body that carries a floating base and the order
        in which `lcaba` eliminates bodies. The best of all that were counted comes back, this mechanism among them, so
        that it is never worse. ``optimized().robot`` is the new mechanism; ``to`` and ``back`` move states across.

        By default the numbers that users have stay: joints keep their names and coordinates, but for passive ones that
        become constraints. A joint that carries a motor, armature, a spring, damping, friction or limits, that a
        coupling or an actuator names, or that is marked independent, is never cut; one that is not marked as actuated
        counts as passive.

        Args:
            method: Method of forward dynamics whose operations are counted; ``"auto"``: the cheapest of those that
                serve every constraint and every redundancy.
            cuts: Whether passive joints may close loops, and constraints that are joints be in the tree.
            root: Whether a floating base may be on another body, or give way to a constraint that holds the robot.
            ends: Whether the two places of this mechanism's own constraints may be exchanged, and with them the axes
                and the sign of their forces.
            orders: Whether `lcaba` may eliminate bodies in another order.
            keep: Names of joints and constraints that do not change kind, such as contacts that are switched off.
            drop: Properties that joints may lose by closing a loop: some of limits, damping, friction.
            seconds: Duration to search; large robots are given up to then.
            progress: Called before each count with the candidate's name, the number of candidates, and the fewest
                operations so far.
        """
        from linkwork.mechanism.optimized import optimize

        return optimize(
            self,
            method,
            cuts=cuts,
            root=root,
            ends=ends,
            orders=orders,
            keep=keep,
            drop=drop,
            seconds=seconds,
            progress=progress,
        )

    @named_options()
    @converted
    def save(
        self,
        path: str | os.PathLike[str],
        format: Format | None = None,
        *,
        drop: Collection[Droppable] = (),
        pose: str | npt.ArrayLike | None = None,
        strict: bool = True,
        dialect: DialectName | None = None,
        package: str | None = None,
    ) -> None:
        """Save as a model file that `load` reads back as the same mechanism; see docs/reference/files.md.

        Properties that the format lacks and that change the dynamics raise `CannotSave` with their names; nothing is
        written. Properties that do not change them (poses, marks of joints, some looks and names) are left out with a
        warning.

        Args:
            path: The file: .urdf, .xml or .mjcf (MJCF), .sdf or .world; .json holds all of a robot, drives and force
                elements too. Paths of meshes are relative to its folder.
            format: ``"urdf"``, ``"mjcf"``, ``"sdf"`` or ``"json"``; by default that of the extension.
            drop: Properties to leave out where the format lacks them, such as ``["actuators", "contacts"]``.
            pose: Configuration in which SDF and MJCF draw the model: its name, or ``(nq,)``; by default the neutral
                one. In SDF joints are at zero there, and loops must be closed there.
            strict: Whether URDF keeps to its standard; False: as ``dialect="linkwork"``.
            dialect: Extension of URDF: ``"linkwork"`` (loops and all else that `load` reads), ``"pinocchio"``
                (loops in a ``robot.yaml`` beside the file), ``"urdfdom"`` (loops as ``<constraint>``), ``"standard"``.
            package: Meshes of URDF are ``package://PACKAGE/...``; by default their paths are relative.
        """
        from linkwork.saving import save_model

        save_model(self, path, format, drop=drop, pose=pose, strict=strict, dialect=dialect, package=package)

    @named_options()
    @converted
    def to_text(
        self,
        format: Format,
        *,
        drop: Collection[Droppable] = (),
        pose: str | npt.ArrayLike | None = None,
        folder: str | os.PathLike[str] | None = None,
        strict: bool = True,
        dialect: DialectName | None = None,
        package: str | None = None,
    ) -> str:
        """The text of the model file that `save` writes; `loads` reads it back.

        Args:
            format: ``"urdf"``, ``"mjcf"``, ``"sdf"`` or ``"json"``.
            drop: As for `save`.
            pose: As for `save`.
            folder: Folder that paths of meshes are relative to; by default they are absolute.
            strict: As for `save`.
            dialect: As for `save`; the text alone has no ``robot.yaml``.
            package: As for `save`; it needs ``folder``.
        """
        from linkwork.saving import model_text

        return model_text(
            self, format, drop=drop, pose=pose, folder=folder, strict=strict, dialect=dialect, package=package
        )

    @converted
    def draw_graph(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """A picture of bodies, joints, loops and clusters; also written to a file if one is given; see `graphs`.

        Args:
            path: File to write, .png, .svg or .pdf; by default none.
        """
        from linkwork.drawing.graphs import draw_graph

        return draw_graph(self, path)

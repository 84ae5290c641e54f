# SPDX-License-Identifier: BSD-3-Clause
"""A mechanism without some of its joints: their children are fixed to their parents where the joints are locked.

Inertias merge, frames, shapes, contacts and constraints between frames stay where they are. A constraint on joint
coordinates keeps the joints that move, with what the locked ones contribute as a constant; one without moving joints
any more is left out, if it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError
from linkwork.inputs import items
from linkwork.mechanism.names import kept_activations, kept_commands
from linkwork.mechanism.outboard import locked_sensors
from linkwork.mechanism.topology import Tree
from linkwork.model.arrays import Floats, numbers
from linkwork.model.constraints import (
    WORLD,
    CenterOfMass,
    Constraint,
    FixedTendonCoupling,
    FunctionCoupling,
    JointCoupling,
    LinearCombination,
    PolynomialCoupling,
    TendonCoupling,
    VelocityCoupling,
)
from linkwork.model.inertia import Inertia
from linkwork.model.joint_placement import joint_placement
from linkwork.model.model import Model
from linkwork.model.parts import Actuator, TreeJoint
from linkwork.model.placement import Placement
from linkwork.model.tendons import Tendon
from linkwork.quantities.functions import constraint_error
from linkwork.quantities.leaves import check_leaves, lacks_mass

M = TypeVar("M", bound=Model)

HOLDS = 1e-6
"""Error in rad or lengths of the robot up to which a constraint holds where joints are locked: files round."""


def reduced(robot: M, fixed: Sequence[str] | Mapping[str, npt.ArrayLike], q: npt.ArrayLike | None = None) -> M:
    """The mechanism in which some joints are locked, without their coordinates; see `Mechanism.reduced`."""
    reduction = _Reduction(robot, _locked(robot, fixed, q))
    mechanism = replace(robot, **reduction.fields())
    return (
        replace(mechanism, sensors=locked_sensors(robot, reduction.tree, reduction.locked, mechanism))
        if robot.sensors
        else mechanism
    )


def _locked(
    robot: Model, fixed: Sequence[str] | Mapping[str, npt.ArrayLike], q: npt.ArrayLike | None
) -> dict[str, Floats]:
    """Coordinates of the locked joints, by name."""
    if isinstance(fixed, str) or not isinstance(fixed, Iterable):
        example = fixed if isinstance(fixed, str) else "elbow"
        raise InputError(f"fixed is {fixed!r}, needs a list of joints, or coordinates by joint: {{'{example}': 0.0}}")
    at = robot.neutral() if q is None else np.asarray(robot.normalize(q))
    if at.shape != (robot.nq,):
        raise InputError(f"q is one configuration of {robot.nq} numbers, not {at.shape}")
    positions = fixed if isinstance(fixed, Mapping) else {}
    if positions and q is not None:
        raise InputError("joints are locked at coordinates by joint, or at a configuration q; both were given")
    known: dict[str, Floats] = {}
    for name in items(fixed, "fixed", "a list of joints, or coordinates by joint"):
        joint = robot.joint(name)
        own = positions.get(name, at[robot.q_slice(name)])
        values = np.atleast_1d(numbers(own, f"coordinate of locked joint '{name}'", InputError))
        if values.shape != (joint.type.nq,) or not np.isfinite(values).all():
            raise InputError(f"joint '{name}' is locked at {values.tolist()}, needs {joint.type.nq} finite numbers")
        known[name] = values
    return known


@dataclass
class _Reduction:
    robot: Model
    locked: Mapping[str, Floats]

    def fields(self) -> dict[str, Any]:
        """The fields of the mechanism without the locked joints."""
        robot, tree = self.robot, self.tree
        check_leaves(tree.joints, tree.inertias, lacks_mass(robot))
        kept = [
            k
            for j in robot.joints
            if j.name not in self.locked
            for k in range(*robot.q_slice(j.name).indices(robot.nq))
        ]
        bodies = tuple(name for name in robot.elimination_order if name in tree.inertias)
        tendons = self._tendons()
        actuators = self._actuators({tendon.name for tendon in tendons})
        return {
            "joints": tuple(tree.joints),
            "inertias": tree.inertias,
            "frames": tree.frames,
            "shapes": tuple(tree.moved(shape) for shape in robot.shapes),
            "constraints": self._constraints(tree),
            "poses": {name: pose[kept] for name, pose in robot.poses.items()},
            "actuators": actuators,
            "tendons": tendons,
            "activations": kept_activations(robot, actuators),
            "commands": kept_commands(robot, actuators),
            "gravity_compensation": tree.merged(robot.gravity_compensation),
            "elimination_order": bodies,
            # what locked joints make one body does not touch itself
            "contacts": tree.moved_contacts(robot.contacts),
            "base_inertia": tree.base_inertia,
            "sensors": (),
        }

    @cached_property
    def tree(self) -> Tree:
        """Moving bodies, with the bodies fixed to them."""
        home: dict[str, tuple[str, Placement]] = {WORLD: (WORLD, Placement())}
        joints: list[TreeJoint] = []
        inertias: dict[str, Inertia] = {}
        base = self.robot.base_inertia
        for joint in self.robot.joints:
            body, place = home[joint.parent]
            here = place * joint.placement
            inertia = self.robot.inertias[joint.child]
            if joint.name in self.locked:
                here = here * joint_placement(joint.type, self.locked[joint.name])
                home[joint.child] = body, here
                if body == WORLD:
                    base = base + inertia.moved(here)
                else:
                    inertias[body] = inertias[body] + inertia.moved(here)
            else:
                joints.append(replace(joint, parent=body, placement=here))
                home[joint.child], inertias[joint.child] = (joint.child, Placement()), inertia
        frames = {}
        for name, frame in self.robot.frames.items():
            body, place = home[frame.body]
            frames[name] = replace(frame, body=body, placement=place * frame.placement)
        return Tree(joints, inertias, frames, home, base)

    # Constraints -----------------------------------------------------------------------------------

    def _constraints(self, tree: Tree) -> tuple[Constraint, ...]:
        constraints = []
        for constraint in self.robot.constraints:
            kept = self._constraint(constraint, tree)
            if kept is not None:
                constraints.append(kept)
            elif constraint.enabled:
                self._check_holds(constraint)
        return tuple(constraints)

    def _constraint(self, constraint: Constraint, tree: Tree) -> Constraint | None:
        """The constraint on the bodies that still move; None if there are none."""
        if isinstance(constraint, CenterOfMass):
            return self._center_of_mass(constraint, tree)
        if isinstance(constraint, TendonCoupling):
            return self._tendon_coupling(constraint, tree)
        if constraint.joints:
            return self._coupling(constraint)
        on = {tree.frames[place].body for place in constraint.places}
        if isinstance(constraint, LinearCombination):
            return constraint if on != {WORLD} else None
        return constraint if len(on) > 1 else None

    def _center_of_mass(self, constraint: CenterOfMass, tree: Tree) -> Constraint:
        named = set(constraint.bodies or self.robot.body_names)
        for body in self.robot.body_names:
            home = tree.home[body][0]
            apart = home == WORLD or (body in named) != (home in named)
            if body != home and apart and self.robot.inertias[body].mass:
                raise InputError(
                    f"{constraint}: body '{body}' would be part of '{home}', and only one of the two is among the "
                    "bodies whose center of mass it holds; leave the constraint out first, by unconstrained()"
                )
        bodies = None if constraint.bodies is None else tuple(b for b in constraint.bodies if tree.home[b][0] == b)
        return replace(constraint, bodies=bodies, **_options(constraint))

    def _coupling(self, constraint: Constraint) -> Constraint | None:
        """A constraint on joint coordinates with the locked ones as constants."""
        free = [name for name in constraint.joints if name not in self.locked]
        if len(free) == len(constraint.joints):
            return constraint
        if not free:
            return None
        options = _options(constraint)
        value = {name: float(x[0]) for name, x in self.locked.items() if x.size == 1}
        if isinstance(constraint, VelocityCoupling):
            return replace(constraint, matrices={name: constraint.matrices[name] for name in free}, **options)
        if isinstance(constraint, JointCoupling):
            held = sum(c * value[name] for name, c in constraint.coefficients.items() if name in value)
            left = {name: constraint.coefficients[name] for name in free}
            return JointCoupling(left, constraint.offset - held, **options)
        if isinstance(constraint, FixedTendonCoupling):
            gone = sum(term.at(value[term.joint]) for term in constraint.terms if term.joint in value)
            moving = tuple(term for term in constraint.terms if term.joint in free)
            return replace(constraint, terms=moving, value=constraint.value - gone, **options)
        if isinstance(constraint, PolynomialCoupling) and constraint.follower in free:
            x = value[str(constraint.leader)] - constraint.leader_origin
            at = float(np.polynomial.polynomial.polyval(x, constraint.coefficients))
            return replace(constraint, leader=None, coefficients=(at,), **options)
        if isinstance(constraint, PolynomialCoupling):
            origin, coefficients = constraint.leader_origin, tuple(constraint.coefficients)
            held = value[constraint.follower] - constraint.follower_origin
            if len(coefficients) > 1 and coefficients[1] and not any(coefficients[2:]):  # a line, which files can say
                start, slope = coefficients[:2]
                return JointCoupling({free[0]: -slope}, start - slope * origin - held, **options)

            def polynomial(q: Any) -> Any:
                total: Any = 0.0
                for c in reversed(coefficients):
                    total = total * (q - origin) + c
                return -total

            return FunctionCoupling(polynomial, free, -held, **options)  # rows keep their sign
        assert isinstance(constraint, FunctionCoupling), constraint
        residual, over = constraint._residual(), tuple(constraint.over)

        def with_constants(*moving: Any) -> Any:
            coordinates = iter(moving)
            return residual(*(value[name] if name in value else next(coordinates) for name in over))

        return FunctionCoupling(with_constants, free, constraint.offset, **options)

    def _tendon_coupling(self, constraint: TendonCoupling, tree: Tree) -> Constraint | None:
        """The coupling with locked joints as constants; tendons that no joint moves keep their length."""
        free = [name for name in constraint.joints if name not in self.locked]
        if not free and len({tree.frames[place].body for place in constraint.places}) < 2:
            return None
        if len(free) == len(constraint.joints):
            return constraint
        options = _options(constraint)
        follower, leader = self._partly_locked(constraint.follower), constraint.leader
        held = leader and self._partly_locked(leader)
        if isinstance(follower, float):
            if not isinstance(held, Tendon) or held.is_spatial:
                raise InputError(
                    f"{constraint}: all joints of tendon '{constraint.follower.name}', which follows, are locked, but "
                    "not the one that leads; leave the constraint out first, by unconstrained()"
                )
            nothing = {next(iter(held.joints)): 0.0}  # a length that no joint changes
            follower = replace(constraint.follower, joints=nothing, offset=follower)
        if isinstance(held, float):
            at = float(np.polynomial.polynomial.polyval(held - constraint.leader_origin, constraint.coefficients))
            return replace(constraint, follower=follower, leader=None, coefficients=(at,), **options)
        return replace(constraint, follower=follower, leader=held, **options)

    def _partly_locked(self, tendon: Tendon) -> Tendon | float:
        """A tendon with coordinates of locked joints as constants; its length, if all its joints are locked."""
        left = {name: c for name, c in tendon.joints.items() if name not in self.locked}
        if len(left) == len(tendon.joints):
            return tendon
        held = sum(c * float(self.locked[name][0]) for name, c in tendon.joints.items() if name in self.locked)
        return replace(tendon, joints=left, offset=tendon.offset + held) if left else tendon.offset + held

    def _check_holds(self, constraint: Constraint) -> None:
        """Raise an error for a constraint that nothing can close any more."""
        q = self.robot.neutral()
        for name, values in self.locked.items():
            q[self.robot.q_slice(name)] = values
        rows = self.robot.row_slice(constraint.name)
        error = constraint_error(self.robot, self.robot.normalize(q))[rows]
        open_by = float(np.abs(error).max(initial=0.0))
        if any(constraint.holonomic) and open_by > HOLDS * self._length():
            raise InputError(
                f"with these joints locked, no joint moves {constraint}, and its error is {open_by:.3g}: lock the "
                "joints at a configuration with closed loops, such as robot.assemble()"
            )

    def _length(self) -> float:
        """A length of the robot."""
        sizes = [float(np.linalg.norm(j.placement.position)) for j in self.robot.joints]
        return max(1.0, *sizes) if sizes else 1.0

    # Actuators -------------------------------------------------------------------------------------

    def _tendons(self) -> tuple[Tendon, ...]:
        """Tendons with coordinates of locked joints as constants; fixed ones with all joints locked are left out."""
        tendons = [self._partly_locked(tendon) for tendon in self.robot.tendons]
        return tuple(t for t in tendons if isinstance(t, Tendon) and not set(t.driven) & set(self.locked))

    def _actuators(self, tendons: set[str]) -> tuple[Actuator, ...]:
        actuators = []
        for actuator in self.robot.actuators:
            if actuator.tendon or actuator.body:
                if actuator.body or actuator.tendon in tendons:
                    actuators.append(actuator)
                continue
            left = [(name, gear) for name, gear in actuator.gears if name not in self.locked]
            if len(left) == len(actuator.gears):
                actuators.append(actuator)
            elif left:
                held = sum(float(np.dot(gear, self.locked[n])) for n, gear in actuator.gears if n in self.locked)
                (joint, gear), *also = left
                actuators.append(
                    replace(
                        actuator,
                        joint=joint,
                        gear=gear,
                        also=tuple((name, factors[0]) for name, factors in also),
                        gain=_at_length(actuator.gain, held),
                        bias=_at_length(actuator.bias, held),
                    )
                )
        return tuple(actuators)


def _at_length(factors: tuple[float, float, float], held: float) -> tuple[float, float, float]:
    """Factors of a length to which locked joints contribute a constant part."""
    return factors[0] + factors[1] * held, factors[1], factors[2]


def _options(constraint: Constraint) -> dict[str, Any]:
    """The options that every constraint has, as keywords."""
    compliance = np.asarray(constraint.compliance)
    return {
        "name": constraint.name,
        "compliance": compliance,
        "enabled": constraint.enabled,
        "gains": constraint.gains,
        "time_constant": None,
    }

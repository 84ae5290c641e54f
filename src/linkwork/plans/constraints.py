# SPDX-License-Identifier: BSD-3-Clause
"""Constraints seen from the tree: rows of K, supports, and the poses that rows are computed from.

K is a list of rows of six numbers, each on one body: **delassus** Eq. 5c (**loops** Eqs. 1c and 36) for all constraints
that act on bodies. Couplings of joints are terms (**delassus** Eq. 5d). Supports and coupled constraints are those of
`loops`; a constraint hangs from one body, its *root*, and so does a group of coupled constraints. Rows are computed
from poses of bodies relative to the root of their constraint, or of its group where that takes far fewer poses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.constraints import (
    CenterOfMass,
    Coupling,
    FunctionCoupling,
    LinearCombination,
    Pair,
    TendonCoupling,
    Term,
)
from linkwork.model.graphs import ancestors, connected
from linkwork.model.joints import DOF, HELICAL
from linkwork.model.model import Model
from linkwork.model.pairs import ANY_SHIFT, MEET
from linkwork.model.placement import Placement
from linkwork.plans.bodies import BodyTable, size_of
from linkwork.plans.kernel_frames import rounded, rounded_rotation
from linkwork.plans.motions import MOTION_INTEGERS, MOTION_SIZES, add_motions
from linkwork.plans.tapes import tape_nodes
from linkwork.plans.tendons import TENDON_ROW_FLOATS, TENDON_ROW_INTEGERS, TENDON_ROW_SIZES, tendon_segments
from linkwork.plans.tree import (
    LOCAL,
    TREE,
    Tree,
    build_tree,
    merged,
    regrouped,
)

CONSTRAINED_TREE = TREE.extended(
    "constrained",
    sizes=(
        "nc",  # rows of all constraints
        "nresult",  # numbers that forward dynamics gives of them: four, and two for each row
        "nsettings",  # settings of iterations: see kernels.constrained
        "nk",  # rows of K: one for each row of a constraint and each body that it acts on
        "nk_link",  # those of constraints on bodies; terms of couplings make the others
        "npairs",
        "nterms",
        "ntape",  # nodes of the tapes of functions of joints
        "noutputs",  # outputs of such functions
        *MOTION_SIZES,
        "ncom",  # bodies of centers of mass
        "ncombinations",  # rows of linear combinations, one for each frame
        "njoint_rows",  # rows on joints of several degrees of freedom that are rows of K, one for each joint
        *TENDON_ROW_SIZES,
        "nposes",  # poses of bodies relative to a root; the first is that of the root itself
        "needs_velocities",  # 1 if a bias needs linear velocities
        "has_gains",  # 1 if a constraint has Baumgarte gains
        "has_redundant_rows",  # 1 if rows are known to depend on each other where loops are closed; set by the caller
    ),
    integers={
        "pose_body": ("nposes",),  # the body of a pose,
        "pose_parent": ("nposes",),  # and the pose of its parent
        "k_body": ("nk",),  # the body of each row of K
        "k_row": ("nk",),  # the row of the constraint that it is a part of
        "closed_form": ("nc",),  # 1 for rows of pairs that LCABA sums in closed form, without K (`plans.lcaba`)
        "pair_turned": ("npairs",),  # 1 where the axes of a pair are not those of its first body
        "pair_rotation": ("npairs",),  # which rotations a pair of frames leaves free, as `Pair.turns`
        "pair_translation": ("npairs",),  # which translations, as `Pair.shifts`
        "pair_row": ("npairs",),  # its first row
        "pair_first": ("npairs",),  # its frames,
        "pair_second": ("npairs",),
        "pair_first_k": ("npairs",),  # the first rows of K of their bodies,
        "pair_second_k": ("npairs",),
        "pair_first_pose": ("npairs",),  # and their bodies' poses
        "pair_second_pose": ("npairs",),
        "closed_rotation": ("npairs",),  # 1 where rows of rotation are in closed form,
        "closed_translation": ("npairs",),  # rows of translation,
        "closed_start": ("npairs",),  # of which this is the first
        "term_row": ("nterms",),  # the row of each term of a coupling, and where its joint stands
        "term_q": ("nterms",),  # (-1: a term of the velocity alone)
        "term_v": ("nterms",),
        "tape_op": ("ntape",),  # operation of a node and its operands; of an input, where it is in q and in v
        "tape_left": ("ntape",),
        "tape_right": ("ntape",),
        "output_row": ("noutputs",),  # the row of an output,
        "output_tape_start": ("noutputs",),  # the first node of its function and the one that is the output,
        "output_node": ("noutputs",),
        "output_term": ("noutputs",),  # and its terms, one for each input
        "output_inputs": ("noutputs",),
        **MOTION_INTEGERS,
        "com_row": ("ncom",),  # the first row of the center of mass that a body counts for,
        "com_nrows": ("ncom",),  # how many there are,
        "com_k": ("ncom",),  # and its first row of K
        "com_body": ("ncom",),
        "com_pose": ("ncom",),
        "combination_row": ("ncombinations",),  # the row of a linear combination, and its row of K
        "combination_k": ("ncombinations",),
        "combination_world_k": ("ncombinations",),  # that of the world, relative to which velocities are meant
        "combination_frame": ("ncombinations",),
        "combination_pose": ("ncombinations",),
        "combination_aligned": ("ncombinations",),  # 1 where its velocities are in the world's axes
        **TENDON_ROW_INTEGERS,
        "joint_row_k": ("njoint_rows",),  # the row of K of the joint's body,
        "joint_row_parent_k": ("njoint_rows",),  # and of its parent
        "joint_row_body": ("njoint_rows",),
    },
    floats={
        "pair_size": ("npairs",),  # length of a rod, radius of a rolling body
        "pair_axes": ("npairs", 3, 3),  # axes of a pair in its first body: that body's, but A's where it is the world
        "pair_frame": ("npairs", 3, 3),  # rotation of A in these axes
        "pair_lever": ("npairs", 3),  # position of A in these axes, from the first body's origin
        "pair_closed": ("npairs", 3, 3),  # rotation from these axes to those of the second body where frames coincide
        "term_coefficients": ("nterms", 4),
        "term_origin": ("nterms",),
        "tape_value": ("ntape",),
        "row_value": ("nc",),  # the target of the sum of each row's terms, or parts
        "com_mass": ("ncom",),  # mass and first moment of each body, over the total mass
        "com_mc": ("ncom", 3),
        "com_axes": ("ncom", 3, 3),  # directions of the rows, one each
        "combination": ("ncombinations", 6),
        **TENDON_ROW_FLOATS,
        "joint_row_factor": ("njoint_rows", 6),  # factors of the joint's velocities
        "kp": ("nc",),  # Baumgarte gains of each row
        "kd": ("nc",),
    },
)
"""A mechanism with its constraints."""


CLOSED = ("closed_rotation", "closed_translation", "closed_start")
"""Fields of pairs in closed form: see `plans.lcaba.ClosedForms`."""

MORE_POSES = 1.5
"""Number of times as many poses constraints may have for roots of their own: fewer joints are between a root and a
body, and loops in a plane stay in it."""


def constrained_tree(
    mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL, joint_level: bool = False
) -> Tree:
    """The arrays of a mechanism with its constraints.

    Rows on the velocities of a joint with several degrees of freedom are terms where ``joint_level`` (**delassus**
    Eq. 5d), otherwise rows of K on its body and the parent (Remark 2), which every method knows.
    """
    return _constrained_tree(mechanism, tuple(frames), reference, joint_level)


@computed_once
def _constrained_tree(mechanism: Model, frames: tuple[str, ...], reference: int, joint_level: bool) -> Tree:
    tree, bodies = build_tree(mechanism, frames, reference)
    return _ConstraintTables(mechanism, tree, bodies, joint_level).build()


def body_of_dof(tree: Tree) -> dict[int, int]:
    """The body behind the joint of each degree of freedom."""
    return {int(v) + k: i for i, v in enumerate(tree.iv) if i > 0 for k in range(DOF[int(tree.kind[i])])}


class _ConstraintTables:
    """Fills the fields of constraints, one constraint after the other."""

    def __init__(self, mechanism: Model, tree: Tree, bodies: BodyTable, joint_level: bool) -> None:
        self.mechanism, self.tree, self.bodies, self.joint_level = mechanism, tree, bodies, joint_level
        self.parent: list[int] = tree.parent.tolist()
        self.body_of_dof = body_of_dof(tree)
        self.frames: list[tuple[int, Placement]] = []
        names = CONSTRAINED_TREE.shapes.keys() - TREE.shapes.keys()
        self.columns: dict[str, list[Any]] = {
            name: [] for name in names - {"closed_form", *CLOSED, "row_value", "kp", "kd"}
        }
        self.row_value = np.zeros(mechanism.nc)
        self.supports: list[set[int]] = []
        self.posed: list[tuple[str, int, int]] = []
        self.needs_velocities = False

    def build(self) -> Tree:
        mechanism, tree = self.mechanism, self.tree
        for constraint in mechanism.constraints:
            row = mechanism.row_slice(constraint.name).start
            if isinstance(constraint, Pair):
                self._pair(constraint, row)
            elif isinstance(constraint, Coupling):
                self._coupling(constraint, row)
            elif isinstance(constraint, CenterOfMass):
                self._center(constraint, row)
            elif isinstance(constraint, LinearCombination):
                self._combination(constraint, row)
            elif isinstance(constraint, TendonCoupling):
                self._tendon_coupling(constraint, row)
        motion_start = add_motions(mechanism, self.columns)
        self._poses()
        places, length = [at for _, at in self.frames], size_of(mechanism)
        for name in ("pair_axes", "pair_frame", "pair_closed"):
            self.columns[name] = list(merged(self.columns[name], 1.0))
        self.columns["pair_lever"] = list(merged(self.columns["pair_lever"], length, tree.p))
        gains = [(c.gains or (0.0, 0.0), c.rows) for c in mechanism.constraints]
        return CONSTRAINED_TREE.build(
            tree,
            nresult=4 + 2 * mechanism.nc,
            nsettings=7 + mechanism.nv + mechanism.nc,
            nk_link=len(self.columns["k_body"]),
            motion_start=motion_start,
            needs_velocities=int(self.needs_velocities),
            has_redundant_rows=0,
            has_gains=int(any(any(c.gains or ()) for c in mechanism.constraints)),
            frame_body=[*tree.frame_body, *(body for body, _ in self.frames)],
            frame_rotation=merged([*tree.frame_rotation, *(rounded_rotation(at.rotation) for at in places)], 1.0),
            frame_position=merged(
                [*tree.frame_position, *(rounded(at.position, length) for at in places)], length, tree.p
            ),
            closed_form=[0] * mechanism.nc,
            **{name: [0] * len(self.columns["pair_row"]) for name in CLOSED},
            row_value=self.row_value,
            kp=np.repeat([kp for (kp, _), _ in gains], [n for _, n in gains]),
            kd=np.repeat([kd for (_, kd), _ in gains], [n for _, n in gains]),
            **self.columns,
        )

    def _add(self, **values: Any) -> None:
        for name, value in values.items():
            self.columns[name].append(value)

    def _k_rows(self, body: int, row: int, rows: int) -> int:
        """Rows of K for a body, or for the world, which accelerates where gravity is the root's acceleration."""
        start = len(self.columns["k_body"])
        for k in range(rows):
            self._add(k_body=body, k_row=row + k)
        return start

    def _frame(self, place: str, at: Placement) -> int:
        """The number of a frame at a place, in the kernels' frame of its body."""
        frame = self.mechanism.frames[place]
        body = self.bodies.number[frame.body]
        self.frames.append((body, self.bodies.frames[body].inverse() * frame.placement * at))
        return int(self.tree.nf) + len(self.frames) - 1

    def _body(self, frame: int) -> int:
        return self.frames[frame - int(self.tree.nf)][0]

    def _pair(self, constraint: Pair, row: int) -> None:
        at_first, at_second = constraint.frames()
        first, second = self._frame(constraint.first, at_first), self._frame(constraint.second, at_second)
        rows = constraint.rows
        self._add(
            pair_rotation=constraint.turns,
            pair_translation=constraint.shifts,
            pair_row=row,
            pair_first=first,
            pair_second=second,
            pair_first_k=self._k_rows(self._body(first), row, rows),
            pair_second_k=self._k_rows(self._body(second), row, rows),
            pair_size=constraint.size,
        )
        self._pair_axes(self._body(first), self.frames[-2][1], self.frames[-1][1])
        self._needs_pose("pair_first_pose", self._body(first))
        self._needs_pose("pair_second_pose", self._body(second))
        lines = [set(ancestors(self.parent, self._body(frame))) for frame in (first, second)]
        self.supports.append(lines[0] ^ lines[1])
        self.needs_velocities |= constraint.shifts not in (ANY_SHIFT, MEET)

    def _pair_axes(self, body: int, first: Placement, second: Placement) -> None:
        """Axes in which a pair is computed: loops in a plane have zeros in a body's, pairs with the world in A's."""
        axes = rounded_rotation(first.rotation) if body == 0 else np.eye(3)
        self._add(
            pair_turned=not np.array_equal(axes, np.eye(3)),
            pair_axes=axes,
            pair_frame=np.eye(3) if body == 0 else rounded_rotation(first.rotation),
            pair_lever=rounded(axes.T @ first.position, size_of(self.mechanism)),
            pair_closed=rounded_rotation(second.rotation @ (axes.T @ first.rotation).T),
        )

    def _coupling(self, constraint: Coupling, row: int) -> None:
        if isinstance(constraint, FunctionCoupling):
            self._function(constraint, row)
        for k, (terms, value) in enumerate(constraint.equations()):
            self.row_value[row + k] = value
            for term in terms if self.joint_level else self._joint_rows(terms, row + k):
                at = term.coordinate
                self._add(
                    term_row=row + k,
                    term_q=self.mechanism.q_slice(term.joint).start + at if term.holonomic else -1,
                    term_v=self.mechanism.v_slice(term.joint).start + at,
                    term_coefficients=term.coefficients,
                    term_origin=term.origin,
                )

    def _joint_rows(self, terms: Sequence[Term], row: int) -> list[Term]:
        """Rows of K for terms of joints with several degrees of freedom, and the terms that are left."""
        left, factors = list[Term](), dict[int, Floats]()
        for term in terms:
            v = self.mechanism.v_slice(term.joint).start + term.coordinate
            body = self.body_of_dof[v]
            if self.tree.kind[body] <= HELICAL:
                left.append(term)
            else:
                factors.setdefault(body, np.zeros(6))[v - int(self.tree.iv[body])] = term.coefficients[0]
        for body, factor in factors.items():
            self._add(joint_row_k=self._k_rows(body, row, 1), joint_row_body=body, joint_row_factor=factor)
            self._add(joint_row_parent_k=self._k_rows(self.parent[body], row, 1))
        return left

    def _function(self, constraint: FunctionCoupling, row: int) -> None:
        """The tape of a function; each of its outputs has terms for all inputs, which come next."""
        tape, joints = constraint.tape, constraint.joints
        start, terms = len(self.columns["tape_op"]), len(self.columns["term_row"])
        places = [(self.mechanism.q_slice(name).start, self.mechanism.v_slice(name).start) for name in joints]
        nodes, outputs = tape_nodes(tape, places, start)
        for op, left, right, value in nodes:
            self._add(tape_op=op, tape_left=left, tape_right=right, tape_value=value)
        for k, output in enumerate(outputs):
            self._add(output_row=row + k, output_tape_start=start, output_node=output)
            self._add(output_term=terms + k * len(joints), output_inputs=len(joints))

    def _center(self, constraint: CenterOfMass, row: int) -> None:
        tree, table = self.tree, self.bodies
        inside = [table.number[name] for name in constraint.bodies or self.mechanism.body_names]
        picked = np.zeros(tree.n)
        picked[inside] = 1.0
        m, c, J = table.inertias
        mass, mc, _ = regrouped(
            tree.parent, tree.kind, tree.P, tree.p, m * picked, c * picked[:, None], J * picked[:, None, None]
        )
        total = mass.sum()
        at = constraint.at
        assert isinstance(at, Placement)
        axes = np.zeros((3, 3))
        for k, letter in enumerate(constraint.axes):
            axes[k] = at.rotation[:, "xyz".index(letter)]
            self.row_value[row + k] = axes[k] @ (at.position - mc[0] / total)  # mass of the world does not move
        shares, moments = mass / total, mc / total
        shares[0], moments[0] = -shares[1:].sum(), 0.0  # rows are of motion relative to the world
        support: set[int] = set()
        for body in range(tree.n):
            share, moment = shares[body], rounded(moments[body], size_of(self.mechanism))
            if share == 0.0 and not moment.any():
                continue
            rows = constraint.rows
            self._add(
                com_row=row,
                com_nrows=rows,
                com_k=self._k_rows(body, row, rows),
                com_body=body,
                com_mass=share,
                com_mc=moment,
                com_axes=axes,
            )
            self._needs_pose("com_pose", body)
            support |= set(ancestors(self.parent, body))
        self.supports.append(support - {0})

    def _combination(self, constraint: LinearCombination, row: int) -> None:
        support: set[int] = set()
        aligned = constraint.reference == "aligned"
        for place, matrix in constraint.matrices.items():
            frame = self._frame(place, Placement())
            body = self._body(frame)
            if body == 0:
                continue
            start = self._k_rows(body, row, constraint.rows)
            world = self._k_rows(0, row, constraint.rows)
            for k in range(constraint.rows):
                numbers: Floats = np.asarray(matrix)[k]
                self._add(combination_row=row + k, combination_frame=frame, combination_aligned=int(aligned))
                self._add(combination=numbers, combination_k=start + k, combination_world_k=world + k)
                self._needs_pose("combination_pose", body)
            support |= set(ancestors(self.parent, body))
        self.supports.append(support - {0})
        self.needs_velocities |= not aligned

    def _tendon_coupling(self, constraint: TendonCoupling, row: int) -> None:
        segments, constants = tendon_segments(
            self.mechanism, constraint.tendons, self.tree.parent.tolist(), self.bodies
        )
        number = len(self.columns["tendon_row"])
        origins = np.array([constraint.follower_origin, constraint.leader_origin])
        origins[: len(constants)] -= constants
        self._add(tendon_row=row, tendon_row_polynomial=constraint.coefficients, tendon_row_origin=origins)
        for name in constraint.joints:
            term = len(self.columns["term_row"])
            coefficients = [tendon.joints.get(name, 0.0) for tendon in constraint.tendons]
            self._add(row_joint_row=number, row_joint_term=term)
            self._add(row_joint_coefficient=(*coefficients, 0.0)[:2])
            self._add(term_row=row, term_coefficients=(0.0,) * 4, term_origin=0.0)
            self._add(term_q=self.mechanism.q_index(name), term_v=self.mechanism.v_index(name))
        touched = sorted({body for segment in segments for body in segment.bodies})
        k_of = {body: self._k_rows(body, row, 1) for body in touched}
        self.columns["tendon_k"] += k_of.values()
        for segment in segments:
            first, second = segment.bodies
            self._add(row_segment_row=number, row_segment_role=segment.tendon, row_segment_scale=segment.scale)
            self._add(row_segment_first_body=first, row_segment_second_body=second)
            self._add(row_segment_first_k=k_of[first], row_segment_second_k=k_of[second])
            self._add(row_segment_first=segment.points[0], row_segment_second=segment.points[1])
            self._needs_pose("row_segment_first_pose", first)
            self._needs_pose("row_segment_second_pose", second)
        if segments:
            lines = [set(ancestors(self.parent, body)) for body in touched]
            self.supports.append({body for line in lines for body in line} - lines[0].intersection(*lines[1:]))
            self.needs_velocities = True

    def _needs_pose(self, column: str, body: int) -> None:
        """The constraint that is being added reads the pose of a body, whose number goes to a column."""
        self.posed.append((column, body, len(self.supports)))

    def _poses(self) -> None:
        """Poses of bodies, each relative to the root of its constraint, or of its group."""
        roots = [self._root(support) for support in self.supports]
        groups = connected(self.supports)
        members: dict[int, set[int]] = {}
        for group, support in zip(groups, self.supports, strict=True):
            members.setdefault(group, set()).update(support - {0})
        for group, bodies in members.items():
            own = {k for k, g in enumerate(groups) if g == group}
            shared = self._root(bodies)
            each = {(roots[k], body) for k in own for body in self.supports[k] - {0}}
            if len(each) > MORE_POSES * len(bodies):
                for k in own:
                    roots[k] = shared
        places: dict[tuple[int, int], int] = {}
        self._add(pose_body=0, pose_parent=0)
        for column, body, number in self.posed:
            self._add(**{column: self._pose(roots[number], body, places)})

    def _root(self, support: set[int]) -> int:
        """The body that carries those of a support."""
        return next((self.parent[b] for b in sorted(support - {0}) if self.parent[b] not in support), 0)

    def _pose(self, root: int, body: int, places: dict[tuple[int, int], int]) -> int:
        """The number of a pose, after that of its parent."""
        if body == root:
            return 0
        if (root, body) not in places:
            above = self._pose(root, self.parent[body], places)
            self._add(pose_body=body, pose_parent=above)
            places[root, body] = len(self.columns["pose_body"]) - 1
        return places[root, body]

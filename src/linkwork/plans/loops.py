"""Constraints seen from the tree: what they touch, which loops they close, and which loops share joints.

A constraint's *support* is the joints that can move what it binds: for a pair of frames those on the way between the
two bodies, for others all down to the world. Its *root* is where they meet. Constraints whose supports share a joint
are *coupled*, and so are all that are coupled to them; such a group hangs together below its *top*. Each joint is in
one group at most, so that the pose of its body relative to the group's top is one number a body (`Tree.above`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.model.arrays import Floats
from linkwork.model.computed import computed_once
from linkwork.model.constraints import CenterOfMass, Constraint, Coupling, FunctionCoupling, LinearCombination, Pair
from linkwork.model.functions import INPUT
from linkwork.model.model import Model
from linkwork.model.pairs import ANY_SHIFT, MEET
from linkwork.model.placement import Placement
from linkwork.plans.tree import LENGTH, LOCAL, TREE, Ground, Tree, plant, regrouped, rounded


@dataclass(frozen=True)
class Loop:
    """One constraint in the tree, by names."""

    constraint: str
    kind: str
    rows: int
    root: str
    """The body (or the world) where the two sides of the loop meet."""
    support: tuple[str, ...]
    """The joints that move it."""
    group: int
    """Which set of coupled loops it belongs to."""


@dataclass(frozen=True)
class Group:
    """Loops that share joints, directly or through others."""

    constraints: tuple[str, ...]
    joints: tuple[str, ...]
    top: str
    """The body that carries them all."""


@dataclass(frozen=True)
class Loops:
    """All constraints of a mechanism, and how they hang together."""

    loops: tuple[Loop, ...]
    groups: tuple[Group, ...]


def loops_of(mechanism: Model) -> Loops:
    """The loops of a mechanism and their groups."""
    parent = {joint.child: joint.parent for joint in mechanism.joints}
    leads_to = {joint.child: joint.name for joint in mechanism.joints}
    child = {name: body for body, name in leads_to.items()}
    found = [_support(mechanism, c, parent) for c in mechanism.constraints]
    groups = coupled([bodies for _, bodies in found])
    order = {joint.child: k for k, joint in enumerate(mechanism.joints)}
    loops = [
        Loop(
            c.name, type(c).__name__, c.rows, root, tuple(leads_to[b] for b in sorted(bodies, key=order.__getitem__)), g
        )
        for c, (root, bodies), g in zip(mechanism.constraints, found, groups, strict=True)
    ]
    gathered = []
    for g in range(max(groups, default=-1) + 1):
        members = [loop for loop in loops if loop.group == g]
        joints = sorted({name for loop in members for name in loop.support}, key=lambda name: order[child[name]])
        inside = {child[name] for name in joints}
        tops = {parent[body] for body in inside} - inside
        top = tops.pop() if len(tops) == 1 else _meeting(tops, parent)
        gathered.append(Group(tuple(loop.constraint for loop in members), tuple(joints), top))
    return Loops(tuple(loops), tuple(gathered))


def _ancestors(body: str, parent: dict[str, str]) -> list[str]:
    """The body and all below it, ending with the world."""
    line = [body]
    while line[-1] in parent:
        line.append(parent[line[-1]])
    return line


def _meeting(bodies: Iterable[str], parent: dict[str, str]) -> str:
    """The body nearest to these from which all of them hang."""
    lines = [_ancestors(body, parent) for body in bodies]
    common = set(lines[0]).intersection(*lines[1:])
    return next(body for body in lines[0] if body in common)


def _support(mechanism: Model, constraint: Constraint, parent: dict[str, str]) -> tuple[str, set[str]]:
    """The root of a constraint, and the bodies whose joints move it."""
    if isinstance(constraint, Coupling):
        bodies = {mechanism.joint(name).child for name in constraint.joints}
        return _meeting({parent[body] for body in bodies}, parent), bodies
    if isinstance(constraint, Pair):
        ends = [mechanism.frames[place].body for place in constraint.places]
        root = _meeting(ends, parent)
    else:
        places = constraint.places or mechanism.body_names
        ends = [mechanism.frames[place].body for place in places]
        root = _ancestors(ends[0], parent)[-1]
    below = set(_ancestors(root, parent))
    return root, {body for end in ends for body in _ancestors(end, parent)} - below


def coupled(supports: Sequence[Set[Hashable]]) -> list[int]:
    """A number for each support, the same where supports share members, directly or through others."""
    leader = list(range(len(supports)))

    def find(k: int) -> int:
        while leader[k] != k:
            leader[k] = leader[leader[k]]
            k = leader[k]
        return k

    owner: dict[Hashable, int] = {}
    for k, members in enumerate(supports):
        for member in members:
            leader[find(k)] = find(owner.setdefault(member, k))
    numbers: dict[int, int] = {}
    return [numbers.setdefault(find(k), len(numbers)) for k in range(len(supports))]


# The arrays that kernels read ----------------------------------------------------------------------

LOOPS = TREE.extended(
    "loops",
    sizes=(
        "nc",  # rows of all constraints
        "nfound",  # numbers that forward dynamics says of them: four, and two for each row
        "nsettings",  # settings of iterations: see algorithms.constrained
        "nk",  # rows of K: one for each row of a constraint and each body that it touches
        "nown",  # those that are not made from terms of couplings
        "npairs",
        "nterms",
        "ntape",  # steps of functions of joints
        "nwritten",  # results of such functions
        "nparts",  # bodies of centers of mass
        "nmixes",  # rows of linear combinations, one for each place
        "slots",  # poses: of body i in slot i, and in the last one that which poses are relative to
        "quick",  # 1 if a bias needs linear velocities
        "pulled",  # 1 if a constraint has gains
    ),
    integers={
        "above": ("n",),  # the slot that a body's pose starts from, or -1 where no constraint needs it
        "k_body": ("nk",),  # the body of each row of K
        "k_row": ("nk",),  # the row of the constraint that it is a part of
        "turns": ("npairs",),  # how a pair of frames is bound
        "shifts": ("npairs",),
        "pair_row": ("npairs",),  # its first row
        "first": ("npairs",),  # its frames,
        "second": ("npairs",),
        "first_k": ("npairs",),  # the first rows of K of their bodies,
        "second_k": ("npairs",),
        "first_slot": ("npairs",),  # and the slots of their bodies' poses
        "second_slot": ("npairs",),
        "term_row": ("nterms",),  # the row of each term of a coupling, and where its joint stands
        "term_q": ("nterms",),
        "term_v": ("nterms",),
        "tape_op": ("ntape",),  # what a step does, to which steps; of an input, where it is in q and in v
        "tape_left": ("ntape",),
        "tape_right": ("ntape",),
        "written_row": ("nwritten",),  # the row of a result,
        "written_start": ("nwritten",),  # the first step of its function and the one that is the result,
        "written_step": ("nwritten",),
        "written_term": ("nwritten",),  # and its terms, one for each input
        "written_inputs": ("nwritten",),
        "part_row": ("nparts",),  # the first row of the center of mass that a body counts for,
        "part_rows": ("nparts",),  # how many there are,
        "part_k": ("nparts",),  # and its first row of K
        "part_body": ("nparts",),
        "mix_row": ("nmixes",),  # the row of a linear combination, and its row of K
        "mix_k": ("nmixes",),
        "mix_world_k": ("nmixes",),  # that of the world, relative to which velocities are meant
        "mix_frame": ("nmixes",),
        "mix_aligned": ("nmixes",),  # 1 where its velocities are in the world's axes
    },
    floats={
        "size": ("npairs",),  # length of a rod, radius of what rolls
        "coefficients": ("nterms", 4),
        "origin": ("nterms",),
        "tape_value": ("ntape",),
        "value": ("nc",),  # what the sum of each row's terms, or parts, is to be
        "part_mass": ("nparts",),  # mass and first moment of each part, over the total mass
        "part_mc": ("nparts", 3),
        "part_axes": ("nparts", 3, 3),  # directions along which rows look, one a row
        "mix": ("nmixes", 6),
        "kp": ("nc",),  # gains of each row
        "kd": ("nc",),
    },
)
"""A mechanism with its constraints. K is a list of rows of six numbers, each on one body."""


def constrained_tree(mechanism: Model, frames: Sequence[str] = (), reference: int = LOCAL) -> Tree:
    """The arrays of a mechanism with its constraints."""
    return _constrained_tree(mechanism, tuple(frames), reference)


@computed_once
def _constrained_tree(mechanism: Model, frames: tuple[str, ...], reference: int) -> Tree:
    tree, ground = plant(mechanism, frames, reference)
    return _Writer(mechanism, tree, ground).write()


class _Writer:
    """Fills the fields of constraints, one constraint after the other."""

    def __init__(self, mechanism: Model, tree: Tree, ground: Ground) -> None:
        self.mechanism, self.tree, self.ground = mechanism, tree, ground
        self.frames: list[tuple[int, Placement]] = []
        self.columns: dict[str, list[Any]] = {}
        self.nk = 0
        self.value = np.zeros(mechanism.nc)
        self.supports: list[set[int]] = []
        self.quick = 0

    def write(self) -> Tree:
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
        above, top = self._poses()
        rows = self.columns
        for side in ("first", "second"):
            bodies = [int(self._body(frame)) for frame in rows.get(side, [])]
            pairs = zip(bodies, rows.get("pair_group", []), strict=True)
            rows[f"{side}_slot"] = [tree.n if body == top[group] else body for body, group in pairs]
        rows.pop("pair_group", None)
        sizes = {
            "nframes": tree.nf + len(self.frames),
            "nc": mechanism.nc,
            "nfound": 4 + 2 * mechanism.nc,
            "nsettings": 6 + mechanism.nv + mechanism.nc,
            "nk": self.nk,
            "nown": self.nk,
            "npairs": len(rows.get("turns", [])),
            "nterms": len(rows.get("term_row", [])),
            "ntape": len(rows.get("tape_op", [])),
            "nwritten": len(rows.get("written_row", [])),
            "nparts": len(rows.get("part_row", [])),
            "nmixes": len(rows.get("mix_row", [])),
            "slots": tree.n + 1,
            "quick": self.quick,
            "pulled": int(any(any(c.gains or ()) for c in mechanism.constraints)),
        }
        arrays: dict[str, Any] = {}
        for name in LOOPS.shapes.keys() - TREE.shapes.keys() - {"above", "value", "kp", "kd"}:
            dtype = np.int64 if name in LOOPS.integers else np.float64
            shape = [k for k in LOOPS.shapes[name][1:] if isinstance(k, int)]
            arrays[name] = np.array(rows.get(name, []), dtype=dtype).reshape(-1, *shape)
        gains = [(c.gains or (0.0, 0.0), c.rows) for c in mechanism.constraints]
        kept = {name: value for name, value in tree._asdict().items() if name not in ("nframes", "body", "F", "f")}
        return LOOPS.type(
            **kept,
            **sizes,
            **arrays,
            body=np.concatenate([tree.body, np.array([b for b, _ in self.frames], dtype=np.int64)]),
            F=np.concatenate([tree.F, np.array([at.rotation for _, at in self.frames]).reshape(-1, 3, 3)]),
            f=np.concatenate(
                [tree.f, np.array([rounded(at.position, LENGTH) for _, at in self.frames]).reshape(-1, 3)]
            ),
            above=above,
            value=self.value,
            kp=np.repeat([kp for (kp, _), _ in gains], [n for _, n in gains]).astype(np.float64),
            kd=np.repeat([kd for (_, kd), _ in gains], [n for _, n in gains]).astype(np.float64),
        )

    def _add(self, **values: Any) -> None:
        for name, value in values.items():
            self.columns.setdefault(name, []).append(value)

    def _touch(self, body: int, row: int, rows: int) -> int:
        """Rows of K for a body, or for the world, which accelerates where gravity is the root's acceleration."""
        start = self.nk
        for k in range(rows):
            self._add(k_body=body, k_row=row + k)
        self.nk += rows
        return start

    def _frame(self, place: str, at: Placement) -> int:
        """The number of a frame at a place, in the frame of kernels of its body."""
        frame = self.mechanism.frames[place]
        body = self.ground.number[frame.body]
        seen = self.ground.inner[body].inverse() * frame.placement * at
        self.frames.append((body, seen))
        return int(self.tree.nf) + len(self.frames) - 1

    def _body(self, frame: int) -> int:
        return self.frames[frame - int(self.tree.nf)][0]

    def _line(self, body: int) -> list[int]:
        line = [body]
        while line[-1] > 0:
            line.append(int(self.tree.parent[line[-1]]))
        return line

    def _pair(self, constraint: Pair, row: int) -> None:
        at_first, at_second = constraint.frames()
        first, second = self._frame(constraint.first, at_first), self._frame(constraint.second, at_second)
        rows = constraint.rows
        self._add(
            turns=constraint.turns,
            shifts=constraint.shifts,
            pair_row=row,
            first=first,
            second=second,
            first_k=self._touch(self._body(first), row, rows),
            second_k=self._touch(self._body(second), row, rows),
            size=constraint.size,
            pair_group=len(self.supports),
        )
        ways = [set(self._line(self._body(frame))) for frame in (first, second)]
        self.supports.append(ways[0] ^ ways[1])
        self.quick |= constraint.shifts not in (ANY_SHIFT, MEET)

    def _coupling(self, constraint: Coupling, row: int) -> None:
        if isinstance(constraint, FunctionCoupling):
            self._function(constraint, row)
        for k, (terms, value) in enumerate(constraint.equations()):
            self.value[row + k] = value
            for term in terms:
                at = term.coordinate
                self._add(
                    term_row=row + k,
                    term_q=self.mechanism.q_slice(term.joint).start + at,
                    term_v=self.mechanism.v_slice(term.joint).start + at,
                    coefficients=term.coefficients,
                    origin=term.origin,
                )

    def _function(self, constraint: FunctionCoupling, row: int) -> None:
        """The tape of a function; each of its results has terms for all inputs, which come next."""
        tape, joints = constraint.tape, constraint.joints
        start, terms = len(self.columns.get("tape_op", [])), len(self.columns.get("term_row", []))
        for step in tape.steps:
            left, right = start + step.left, start + step.right
            if step.op == INPUT:
                name = joints[step.left]
                left, right = self.mechanism.q_slice(name).start, self.mechanism.v_slice(name).start
            self._add(tape_op=step.op, tape_left=left, tape_right=right, tape_value=step.value)
        for k, result in enumerate(tape.outputs):
            self._add(written_row=row + k, written_start=start, written_step=start + result)
            self._add(written_term=terms + k * len(joints), written_inputs=len(joints))

    def _center(self, constraint: CenterOfMass, row: int) -> None:
        tree, ground = self.tree, self.ground
        inside = [ground.number[name] for name in constraint.bodies or self.mechanism.body_names]
        picked = np.zeros(tree.n)
        picked[inside] = 1.0
        m, c, J = ground.inertias
        mass, mc, _ = regrouped(
            tree.parent, tree.kind, tree.P, tree.p, m * picked, c * picked[:, None], J * picked[:, None, None]
        )
        total = mass.sum()
        at = constraint.at
        assert isinstance(at, Placement)
        axes = np.zeros((3, 3))
        for k, letter in enumerate(constraint.axes):
            axes[k] = at.rotation[:, "xyz".index(letter)]
            self.value[row + k] = axes[k] @ (at.position - mc[0] / total)  # what has become part of the world stays
        shares, moments = mass / total, mc / total
        shares[0], moments[0] = -shares[1:].sum(), 0.0  # the rows look at motion relative to the world
        reach: set[int] = set()
        for body in range(tree.n):
            share, moment = shares[body], rounded(moments[body], LENGTH)
            if share == 0.0 and not moment.any():
                continue
            rows = constraint.rows
            self._add(
                part_row=row,
                part_rows=rows,
                part_k=self._touch(body, row, rows),
                part_body=body,
                part_mass=share,
                part_mc=moment,
                part_axes=axes,
            )
            reach |= set(self._line(body))
        self.supports.append(reach - {0})

    def _combination(self, constraint: LinearCombination, row: int) -> None:
        reach: set[int] = set()
        aligned = constraint.reference == "aligned"
        for place, matrix in constraint.matrices.items():
            frame = self._frame(place, Placement())
            body = self._body(frame)
            if body == 0:
                continue
            start = self._touch(body, row, constraint.rows)
            still = self._touch(0, row, constraint.rows)
            for k in range(constraint.rows):
                numbers: Floats = np.asarray(matrix)[k]
                self._add(mix_row=row + k, mix_frame=frame, mix_aligned=int(aligned), mix=numbers)
                self._add(mix_k=start + k, mix_world_k=still + k)
            reach |= set(self._line(body))
        self.supports.append(reach - {0})
        self.quick |= not aligned

    def _poses(self) -> tuple[Any, list[int]]:
        """The slot that each body's pose starts from, and the top of each support's group."""
        n, parent = self.tree.n, self.tree.parent
        numbers = coupled(self.supports)
        members: dict[int, set[int]] = {}
        for number, support in zip(numbers, self.supports, strict=True):
            members.setdefault(number, set()).update(support - {0})
        above = np.full(n, -1, dtype=np.int64)
        tops: dict[int, int] = {}
        for number, bodies in members.items():
            tops[number] = next((int(parent[b]) for b in sorted(bodies) if int(parent[b]) not in bodies), 0)
            for body in bodies:
                above[body] = n if int(parent[body]) == tops[number] else int(parent[body])
        return above, [tops[number] for number in numbers]

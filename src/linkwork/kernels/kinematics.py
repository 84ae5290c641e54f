"""Where bodies are and how they move: the sweeps that other algorithms start with, and frame kinematics.

| symbol  | meaning                                                                            |
|---------|------------------------------------------------------------------------------------|
| c, s, R | turn of body i in its parent: about z, or in full for spherical and free joints    |
| r       | offset of body i in its parent, in the parent's axes                               |
| E, o    | rotation and position of body i in the world                                       |
| omega   | angular velocity of body i in its own axes; u: linear velocity of its origin       |
| W       | the matrix of ``omega x (omega x .)``, six numbers                                  |
| spread  | how accelerations spread over body i: ``alpha x . + omega x (omega x .)``          |
| k       | acceleration from velocities alone; a: acceleration, `[angular; linear classical]` |

Cost: linear in the number of bodies; Jacobians n d, with d the depth of the frame.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.joints import (
    axis_of,
    dof_of,
    joint_angular,
    joint_coriolis,
    joint_linear,
    joint_place,
    to_child,
)
from linkwork.kernels.scalar import Array, Vector, kernel
from linkwork.kernels.spatial import (
    add,
    angular,
    centripetal,
    column,
    cross,
    linear,
    multiply,
    put,
    put_angular,
    put_linear,
    put_spread,
    rotate,
    scale,
    sub,
    unrotate,
)
from linkwork.model.joints import FREE, HELICAL, PRISMATIC, SPHERICAL
from linkwork.plans.tree import ALIGNED, LOCAL

POSE: dict[str, Shape] = {"c": ("n",), "s": ("n",), "R": ("n", 3, 3), "r": ("n", 3), "Q": (3, 3)}
WORLD_POSE: dict[str, Shape] = {"E": ("n", 3, 3), "o": ("n", 3)}
MOTION: dict[str, Shape] = {"omega": ("n", 3), "W": ("n", 6), "k": ("n", 6)}
ACCELERATION: dict[str, Shape] = {"a": ("n", 6), "spread": ("n", 3, 3), "still": ("nv",)}
VELOCITY: dict[str, Shape] = {"omega": ("n", 3), "u": ("n", 3)}


@kernel
def place(tree: Array, w: Array, q: Array) -> None:
    """Every body in its parent."""
    for i in range(1, tree.n):
        joint_place(tree, w, i, q)


@kernel
def move(tree: Array, w: Array, v: Array) -> None:
    """Root to leaves: angular velocities and the accelerations that come from velocities."""
    rest_world(w)
    for i in range(1, tree.n):
        move_body(tree, w, i, v)


@kernel
def rest_world(w: Array) -> None:
    """The world does not turn."""
    put((0.0, 0.0, 0.0), w.omega[0])
    for j in range(6):
        w.W[0, j] = 0.0


@kernel
def move_body(tree: Array, w: Array, i: int, v: Array) -> None:
    """The angular velocity of body ``i``, and its acceleration that comes from velocities."""
    carried = to_child(tree, w, i, w.omega[tree.parent[i]])
    put(add(carried, joint_angular(tree, i, v)), w.omega[i])
    W = centripetal(w.omega[i])
    for j in range(6):
        w.W[i, j] = W[j]
    joint_coriolis(tree, w, i, v, carried)


@kernel
def follow(tree: Array, w: Array, v: Array) -> None:
    """Root to leaves: angular and linear velocity of every body, in its own axes."""
    put((0.0, 0.0, 0.0), w.omega[0])
    put((0.0, 0.0, 0.0), w.u[0])
    for i in range(1, tree.n):
        h = tree.parent[i]
        put(add(to_child(tree, w, i, w.omega[h]), joint_angular(tree, i, v)), w.omega[i])
        here = add(w.u[h], cross(w.omega[h], w.r[i]))
        put(add(to_child(tree, w, i, here), joint_linear(tree, i, v)), w.u[i])


@kernel
def hasten(tree: Array, w: Array, acceleration: Array) -> None:
    """Root to leaves: acceleration of every body, the root's (it does not turn) being given in ``w.a[0]``."""
    spread_world(w)
    for i in range(1, tree.n):
        hasten_body(tree, w, i, acceleration)


@kernel
def spread_world(w: Array) -> None:
    """The acceleration of the world is the same everywhere."""
    for j in range(3):
        for k in range(3):
            w.spread[0, j, k] = 0.0


@kernel
def hasten_body(tree: Array, w: Array, i: int, acceleration: Array) -> None:
    """The acceleration of body ``i``, that of its parent being known."""
    h = tree.parent[i]
    a = w.a[h]
    here = add(linear(a), rotate(w.spread[h], w.r[i]))
    k = w.k[i]
    turn = add(to_child(tree, w, i, angular(a)), joint_angular(tree, i, acceleration))
    put_angular(add(turn, angular(k)), w.a[i])
    shift = add(to_child(tree, w, i, here), joint_linear(tree, i, acceleration))
    put_linear(add(shift, linear(k)), w.a[i])
    put_spread(angular(w.a[i]), w.W[i], w.spread[i])


@kernel
def coast(tree: Array, w: Array) -> None:
    """The same while no joint accelerates."""
    for k in range(tree.nv):
        w.still[k] = 0.0
    hasten(tree, w, w.still)


@kernel
def carry(tree: Array, w: Array, i: int, acceleration: Array) -> None:
    """The acceleration of a body from that of its parent and of its joint, nothing moving."""
    kind = tree.kind[i]
    b = w.a[tree.parent[i]]
    a = w.a[i]
    put_angular(to_child(tree, w, i, angular(b)), a)
    put_linear(to_child(tree, w, i, add(linear(b), cross(angular(b), w.r[i]))), a)
    for k in range(dof_of(kind)):
        a[axis_of(kind, k)] += acceleration[tree.iv[i] + k]
    if kind == HELICAL:
        a[5] += tree.pitch[i] * acceleration[tree.iv[i]]


@kernel
def locate(tree: Array, w: Array) -> None:
    """Root to leaves: every body in the world."""
    put((0.0, 0.0, 0.0), w.o[0])
    for j in range(3):
        for k in range(3):
            w.E[0, j, k] = 1.0 if j == k else 0.0
    for i in range(1, tree.n):
        locate_body(tree, w, i, tree.parent[i])


@kernel
def locate_body(tree: Array, w: Array, i: int, h: int) -> None:
    """Body ``i`` where its parent, located in place ``h``, is."""
    kind = tree.kind[i]
    E = w.E[i]
    put(add(w.o[h], rotate(w.E[h], w.r[i])), w.o[i])
    if kind == SPHERICAL or kind == FREE:
        multiply(w.E[h], w.R[i], E)
    else:
        multiply(w.E[h], tree.P[i], E)
        if kind != PRISMATIC:
            c = w.c[i]
            s = w.s[i]
            x = column(E, 0)
            y = column(E, 1)
            for j in range(3):
                E[j, 0] = c * x[j] + s * y[j]
                E[j, 1] = c * y[j] - s * x[j]


@kernel
def locate_frame(tree: Array, w: Array, f: int, rotation: Array, position: Array) -> None:
    """A frame in the world."""
    b = tree.body[f]
    multiply(w.E[b], tree.F[f], rotation)
    put(add(w.o[b], rotate(w.E[b], tree.f[f])), position)


@kernel
def express(tree: Array, w: Array, f: int, turn: Vector, shift: Vector, out: Array) -> None:
    """A motion given at frame ``f`` in the axes of its body, written in the axes of ``tree.reference``."""
    b = tree.body[f]
    if tree.reference == LOCAL:
        put_angular(unrotate(tree.F[f], turn), out)
        put_linear(unrotate(tree.F[f], shift), out)
    else:
        around = rotate(w.E[b], turn)
        along = rotate(w.E[b], shift)
        if tree.reference != ALIGNED:
            here = add(w.o[b], rotate(w.E[b], tree.f[f]))
            along = add(along, cross(here, around))
        put_angular(around, out)
        put_linear(along, out)


@kernel
def placements(tree: Array, w: Array, q: Array, rotation: Array, position: Array) -> None:
    """Rotation and position of each frame in the world."""
    place(tree, w, q)
    locate(tree, w)
    for f in range(tree.nf):
        locate_frame(tree, w, f, rotation[f], position[f])


@kernel
def velocities(tree: Array, w: Array, q: Array, v: Array, velocity: Array) -> None:
    """Spatial velocity of each frame."""
    place(tree, w, q)
    follow(tree, w, v)
    if tree.reference != LOCAL:
        locate(tree, w)
    for f in range(tree.nf):
        b = tree.body[f]
        shift = add(w.u[b], cross(w.omega[b], tree.f[f]))
        express(tree, w, f, w.omega[b], shift, velocity[f])


@kernel
def accelerations(tree: Array, w: Array, q: Array, v: Array, acceleration: Array, out: Array) -> None:
    """Angular and classical linear acceleration of each frame (gravity is not added)."""
    place(tree, w, q)
    move(tree, w, v)
    for j in range(6):
        w.a[0, j] = 0.0
    hasten(tree, w, acceleration)
    if tree.reference != LOCAL:
        locate(tree, w)
    for f in range(tree.nf):
        b = tree.body[f]
        a = w.a[b]
        shift = add(linear(a), rotate(w.spread[b], tree.f[f]))
        express(tree, w, f, angular(a), shift, out[f])


@kernel
def jacobians(tree: Array, w: Array, q: Array, jacobian: Array) -> None:
    """Each frame's velocity as a linear map of v: one column per degree of freedom that carries the frame."""
    place(tree, w, q)
    locate(tree, w)
    for f in range(tree.nf):
        J = jacobian[f]
        for j in range(6):
            for k in range(tree.nv):
                J[j, k] = 0.0
        b = tree.body[f]
        tip = add(w.o[b], rotate(w.E[b], tree.f[f]))
        i = b
        while i > 0:
            arm = sub(tip, w.o[i])
            for k in range(dof_of(tree.kind[i])):
                axis = axis_of(tree.kind[i], k)
                z = column(w.E[i], axis % 3)
                turn = z if axis < 3 else (0.0, 0.0, 0.0)
                shift = cross(z, arm) if axis < 3 else z
                if tree.kind[i] == HELICAL:
                    shift = add(shift, scale(tree.pitch[i], z))
                if tree.reference == LOCAL:
                    turn = unrotate(tree.F[f], unrotate(w.E[b], turn))
                    shift = unrotate(tree.F[f], unrotate(w.E[b], shift))
                elif tree.reference != ALIGNED:
                    shift = add(shift, cross(tip, turn))
                for j in range(3):
                    J[j, tree.iv[i] + k] = turn[j]
                    J[3 + j, tree.iv[i] + k] = shift[j]
            i = tree.parent[i]


PLACEMENTS = Algorithm(
    "placements", placements, {"q": ("nq",)}, {"rotation": ("nf", 3, 3), "position": ("nf", 3)}, POSE | WORLD_POSE
)
VELOCITIES = Algorithm(
    "velocities", velocities, {"q": ("nq",), "v": ("nv",)}, {"velocity": ("nf", 6)}, POSE | WORLD_POSE | VELOCITY
)
ACCELERATIONS = Algorithm(
    "accelerations",
    accelerations,
    {"q": ("nq",), "v": ("nv",), "a": ("nv",)},
    {"acceleration": ("nf", 6)},
    POSE | WORLD_POSE | MOTION | ACCELERATION,
)
JACOBIANS = Algorithm("jacobians", jacobians, {"q": ("nq",)}, {"jacobian": ("nf", 6, "nv")}, POSE | WORLD_POSE)

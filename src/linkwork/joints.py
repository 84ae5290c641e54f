"""Joint types: one class each for users, one branch each in the kernels below.

| joint     | q                                  | v                        | motion subspace S     |
|-----------|------------------------------------|--------------------------|-----------------------|
| Revolute  | angle                              | rate                     | {rz}                  |
| Prismatic | length                             | rate                     | {tz}                  |
| Helical   | angle                              | rate                     | rz + pitch tz         |
| Universal | two angles                         | rates                    | two Revolutes         |
| Spherical | quaternion x y z w                 | angular, body frame      | {rx ry rz}            |
| Planar    | x, y, cos, sin                     | x, y, turn, body frame   | {tx ty rz}            |
| Free      | position, quaternion               | linear, angular, body    | {tx ty tz rx ry rz}   |

Kernels know atoms: the z axis of a body is the axis of its one-DoF joint, S is a selection of unit axes
(`axis_of`), and a universal joint is two revolutes around a massless link.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linkwork import lie
from linkwork.errors import ModelError
from linkwork.rigid import Floats, VectorLike, _frozen
from linkwork.scalar import Array, Scalar, Vector, kernel, sincos, sqrt
from linkwork.spatial import add, cross, multiply, put, put_angular, put_linear, rotate, unrotate

REVOLUTE, PRISMATIC, HELICAL, SPHERICAL, PLANAR, FREE = range(6)

DOF = (1, 1, 1, 3, 3, 6)
"""Degrees of freedom of each kind of atom."""

_NAMED_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}


def unit_axis(axis: str | VectorLike) -> Floats:
    """A unit vector from ``"x"``, ``"-z"`` or three numbers."""
    if isinstance(axis, str):
        if axis not in _NAMED_AXES:
            raise ModelError(f"axis '{axis}' is none of {', '.join(_NAMED_AXES)}; give one of them or three numbers")
        axis = _NAMED_AXES[axis]
    values = np.array(_frozen(axis, (3,), "axis"))
    length = float(np.linalg.norm(values))
    if length < 1e-9:
        raise ModelError("a joint axis of zero length has no direction")
    values /= length
    whole = np.rint(values)
    return _frozen(np.where(np.abs(values - whole) < 4e-16, whole + 0.0, values), (3,), "axis")


@dataclass(frozen=True, eq=False)
class Joint:
    """What every joint type says of itself; ``neutral`` is the q of the joint at rest."""

    neutral: ClassVar[tuple[float, ...]] = (0.0,)
    nv: ClassVar[int] = 1
    unit: ClassVar[tuple[int, int] | None] = None
    """Where in q numbers of unit length stand (start, count), if any."""
    group: ClassVar[lie.Group] = lie.VECTOR
    """How q and v combine: integrate, difference, random."""
    width: ClassVar[float] = np.pi
    """Random configurations without limits lie this far either side of zero: radians, or metres where q has any."""

    @property
    def nq(self) -> int:
        """Numbers of q."""
        return len(self.neutral)

    @property
    def kind_name(self) -> str:
        """The type in lower case, for messages."""
        return type(self).__name__.lower()


@dataclass(frozen=True, eq=False)
class _OneAxis(Joint):
    axis: Floats

    def __init__(self, axis: str | VectorLike = "z") -> None:
        object.__setattr__(self, "axis", unit_axis(axis))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.axis.tolist()})"


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Revolute(_OneAxis):
    """Turns about an axis; the angle is a plain number, with or without limits.

    Args:
        axis: ``"x"``, ``"-z"`` and the like, or three numbers, in the axes of the joint's place.
    """


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Prismatic(_OneAxis):
    """Slides along an axis.

    Args:
        axis: ``"x"``, ``"-z"`` and the like, or three numbers, in the axes of the joint's place.
    """

    width: ClassVar[float] = 1.0


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Helical(_OneAxis):
    """A screw: slides along an axis as it turns about it.

    Args:
        axis: ``"x"``, ``"-z"`` and the like, or three numbers, in the axes of the joint's place.
        pitch: Metres per radian.
    """

    pitch: float = 0.0

    def __init__(self, axis: str | VectorLike = "z", pitch: float = 0.0) -> None:
        super().__init__(axis)
        object.__setattr__(self, "pitch", float(pitch))
        if not np.isfinite(self.pitch):
            raise ModelError(f"helical joint: pitch {pitch} is not a finite number")


@dataclass(frozen=True, eq=False)
class Universal(Joint):
    """Turns about ``first``, then about ``second`` carried along by it.

    Args:
        first: ``"x"``, ``"-z"`` and the like, or three numbers, in the axes of the joint's place.
        second: The same, of the second axis.
    """

    neutral: ClassVar[tuple[float, ...]] = (0.0, 0.0)
    nv: ClassVar[int] = 2
    first: Floats
    second: Floats

    def __init__(self, first: str | VectorLike = "x", second: str | VectorLike = "y") -> None:
        object.__setattr__(self, "first", unit_axis(first))
        object.__setattr__(self, "second", unit_axis(second))
        if np.linalg.norm(np.cross(self.first, self.second)) < 1e-6:
            raise ModelError("universal joint: the two axes are parallel, which leaves one degree of freedom")


@dataclass(frozen=True, eq=False)
class Spherical(Joint):
    """A ball joint: q is a quaternion ``x y z w``, v the angular velocity in the body's frame."""

    neutral: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0, 1.0)
    nv: ClassVar[int] = 3
    unit: ClassVar[tuple[int, int] | None] = (0, 4)
    group: ClassVar[lie.Group] = lie.SO3


@dataclass(frozen=True, eq=False)
class Planar(_OneAxis):
    """Slides and turns in the plane normal to ``axis``: q is ``x y cos sin``, v is ``x y turn`` in the body's frame.

    Args:
        axis: ``"x"``, ``"-z"`` and the like, or three numbers, in the axes of the joint's place.
    """

    neutral: ClassVar[tuple[float, ...]] = (0.0, 0.0, 1.0, 0.0)
    nv: ClassVar[int] = 3
    unit: ClassVar[tuple[int, int] | None] = (2, 2)
    group: ClassVar[lie.Group] = lie.SE2
    width: ClassVar[float] = 1.0

    def __init__(self, axis: str | VectorLike = "z") -> None:
        super().__init__(axis)


@dataclass(frozen=True, eq=False)
class Free(Joint):
    """No constraint: q is ``x y z, qx qy qz qw``, v is ``[linear, angular]`` in the body's frame."""

    neutral: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    nv: ClassVar[int] = 6
    unit: ClassVar[tuple[int, int] | None] = (3, 4)
    group: ClassVar[lie.Group] = lie.SE3
    width: ClassVar[float] = 1.0


@dataclass(frozen=True, eq=False)
class Fixed(Joint):
    """No motion: the bodies are merged, their frames stay."""

    neutral: ClassVar[tuple[float, ...]] = ()
    nv: ClassVar[int] = 0


@dataclass(frozen=True, eq=False)
class Atom:
    """One joint as kernels see it: its kind, the axis that becomes z (None: axes stay), and the pitch."""

    kind: int
    axis: Floats | None = None
    pitch: float = 0.0


def atoms_of(joint: Joint) -> tuple[Atom, ...]:
    """The atoms of a joint, from parent to child."""
    return _ATOMS[type(joint)](joint)


_ATOMS: dict[type[Joint], Callable[..., tuple[Atom, ...]]] = {
    Revolute: lambda j: (Atom(REVOLUTE, j.axis),),
    Prismatic: lambda j: (Atom(PRISMATIC, j.axis),),
    Helical: lambda j: (Atom(HELICAL, j.axis, j.pitch),),
    Universal: lambda j: (Atom(REVOLUTE, j.first), Atom(REVOLUTE, j.second)),
    Spherical: lambda j: (Atom(SPHERICAL),),
    Planar: lambda j: (Atom(PLANAR, j.axis),),
    Free: lambda j: (Atom(FREE),),
}


# Kernel text -------------------------------------------------------------------------------------


@kernel
def dof_of(kind: int) -> int:
    """Degrees of freedom of an atom."""
    if kind <= HELICAL:
        return 1
    if kind == FREE:
        return 6
    return 3


@kernel
def axis_of(kind: int, k: int) -> int:
    """The axis (0..2 angular, 3..5 linear) along which velocity ``k`` of an atom moves."""
    if kind == PRISMATIC:
        return 5
    if kind <= HELICAL:
        return 2
    if kind == SPHERICAL:
        return k
    if kind == PLANAR:
        return 2 if k == 2 else 3 + k
    return (k + 3) % 6


@kernel
def joint_place(tree: Array, w: Array, i: int, q: Array) -> None:
    """Where body ``i`` stands in its parent: ``r``, and ``c, s`` (turn about z) or a full ``R``."""
    kind = tree.kind[i]
    o = tree.iq[i]
    P = tree.P[i]
    p = tree.p[i]
    put(p, w.r[i])
    if kind == REVOLUTE:
        w.s[i], w.c[i] = sincos(q[o])
    elif kind == PRISMATIC:
        put(_along(P, p, q[o]), w.r[i])
    elif kind == HELICAL:
        w.s[i], w.c[i] = sincos(q[o])
        put(_along(P, p, tree.pitch[i] * q[o]), w.r[i])
    elif kind == PLANAR:
        length = 1.0 / sqrt(q[o + 2] * q[o + 2] + q[o + 3] * q[o + 3])
        w.c[i] = q[o + 2] * length
        w.s[i] = q[o + 3] * length
        put(add(p, rotate(P, (q[o], q[o + 1], 0.0))), w.r[i])
    elif kind == SPHERICAL:
        _quaternion_place(P, q, o, w.Q, w.R[i])
    else:
        put(add(p, rotate(P, (q[o], q[o + 1], q[o + 2]))), w.r[i])
        _quaternion_place(P, q, o + 3, w.Q, w.R[i])


@kernel
def _along(P: Array, p: Vector, d: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    return p[0] + P[0, 2] * d, p[1] + P[1, 2] * d, p[2] + P[2, 2] * d


@kernel
def _quaternion_place(P: Array, q: Array, o: int, Q: Array, R: Array) -> None:
    """``R = P Q(q)``; the quaternion may have any length but zero."""
    x = q[o]
    y = q[o + 1]
    z = q[o + 2]
    u = q[o + 3]
    k = 2.0 / (x * x + y * y + z * z + u * u)
    kx = k * x
    ky = k * y
    kz = k * z
    xx = kx * x
    yy = ky * y
    zz = kz * z
    xy = kx * y
    xz = kx * z
    yz = ky * z
    xu = kx * u
    yu = ky * u
    zu = kz * u
    Q[0, 0] = 1.0 - (yy + zz)
    Q[0, 1] = xy - zu
    Q[0, 2] = xz + yu
    Q[1, 0] = xy + zu
    Q[1, 1] = 1.0 - (xx + zz)
    Q[1, 2] = yz - xu
    Q[2, 0] = xz - yu
    Q[2, 1] = yz + xu
    Q[2, 2] = 1.0 - (xx + yy)
    multiply(P, Q, R)


@kernel
def joint_angular(tree: Array, i: int, v: Array) -> tuple[Scalar, Scalar, Scalar]:
    """Angular part of ``S v`` for atom ``i``."""
    kind = tree.kind[i]
    o = tree.iv[i]
    if kind == REVOLUTE or kind == HELICAL:
        return 0.0, 0.0, v[o]
    if kind == PRISMATIC:
        return 0.0, 0.0, 0.0
    if kind == SPHERICAL:
        return v[o], v[o + 1], v[o + 2]
    if kind == PLANAR:
        return 0.0, 0.0, v[o + 2]
    return v[o + 3], v[o + 4], v[o + 5]


@kernel
def joint_linear(tree: Array, i: int, v: Array) -> tuple[Scalar, Scalar, Scalar]:
    """Linear part of ``S v`` for atom ``i``."""
    kind = tree.kind[i]
    o = tree.iv[i]
    if kind == PRISMATIC:
        return 0.0, 0.0, v[o]
    if kind == HELICAL:
        return 0.0, 0.0, tree.pitch[i] * v[o]
    if kind == PLANAR:
        return v[o], v[o + 1], 0.0
    if kind == FREE:
        return v[o], v[o + 1], v[o + 2]
    return 0.0, 0.0, 0.0


@kernel
def to_child(tree: Array, w: Array, i: int, x: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """Turn a vector from the parent's axes into those of body ``i``."""
    kind = tree.kind[i]
    if kind == SPHERICAL or kind == FREE:
        return unrotate(w.R[i], x)
    y = (x[0], x[1], x[2])
    if tree.turned[i] != 0:
        y = unrotate(tree.P[i], x)
    if kind == PRISMATIC:
        return y
    c = w.c[i]
    s = w.s[i]
    return c * y[0] + s * y[1], c * y[1] - s * y[0], y[2]


@kernel
def to_parent(tree: Array, w: Array, i: int, x: Vector) -> tuple[Scalar, Scalar, Scalar]:
    """Turn a vector from the axes of body ``i`` into those of its parent."""
    kind = tree.kind[i]
    if kind == SPHERICAL or kind == FREE:
        return rotate(w.R[i], x)
    y = (x[0], x[1], x[2])
    if kind != PRISMATIC:
        c = w.c[i]
        s = w.s[i]
        y = (c * x[0] - s * x[1], s * x[0] + c * x[1], x[2])
    if tree.turned[i] != 0:
        return rotate(tree.P[i], y)
    return y


@kernel
def joint_coriolis(tree: Array, w: Array, i: int, v: Array, parent_omega: Vector) -> None:
    """Acceleration of body ``i`` that its joint makes from velocities alone, ``w.k``.

    With ``w'`` the parent's angular velocity in the child's axes and ``(o, u)`` the angular and linear
    parts of ``S v``: angular ``w' x o``, linear ``(w' + w) x u``.
    """
    kind = tree.kind[i]
    o = tree.iv[i]
    k = w.k[i]
    for j in range(6):
        k[j] = 0.0
    if kind == REVOLUTE or kind == HELICAL:
        k[0] = parent_omega[1] * v[o]
        k[1] = -(parent_omega[0] * v[o])
    elif kind != PRISMATIC:
        put_angular(cross(parent_omega, joint_angular(tree, i, v)), k)
    if kind != REVOLUTE and kind != SPHERICAL:
        put_linear(cross(add(parent_omega, w.omega[i]), joint_linear(tree, i, v)), k)


@kernel
def moves(kind: int, j: int) -> int:
    """1 if an atom whose S selects unit axes moves along axis ``j``."""
    for k in range(dof_of(kind)):
        if axis_of(kind, k) == j:
            return 1
    return 0

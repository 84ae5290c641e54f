# SPDX-License-Identifier: BSD-3-Clause
"""Spatial vector algebra: 3D vectors, rotations, spatial vectors and spatial inertias.

Featherstone, Rigid Body Dynamics Algorithms, Chapter 2. A vector is anything with three entries (a tuple
or the row of an array); functions return tuples. A spatial vector is ``[angular; linear]`` in the body's own frame.
Two choices differ from the book's:

* The linear part of an acceleration is the *classical* acceleration of the body's origin. It equals the spatial one
  plus ``omega x v``, transforms in the same way, and needs no linear velocities. The equation of motion of a rigid
  body is then::

      n = I alpha + mc x a + omega x (I omega)          I inertia about the origin, mc first moment of mass
      f = m a + alpha x mc + omega x (omega x mc)       alpha angular, a linear acceleration

* The axis of a one-DoF joint is the z axis of its body, so that its rotation is planar.

A spatial inertia ``H`` is a full symmetric 6 x 6 array of which sums touch the upper triangle only; `symmetrize`
completes it. Its 3 x 3 blocks are ``A`` (angular, angular), ``B`` (angular, linear), ``C`` (linear, linear).
Rotational inertias are six numbers ``xx xy xz yy yz zz``.
"""

from __future__ import annotations

from linkwork.kernels.scalar import Array, Scalar, Vector, kernel

Triple = tuple[Scalar, Scalar, Scalar]
Six = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]


@kernel
def add(x: Vector, y: Vector) -> Triple:
    """``x + y``."""
    return x[0] + y[0], x[1] + y[1], x[2] + y[2]


@kernel
def sub(x: Vector, y: Vector) -> Triple:
    """``x - y``."""
    return x[0] - y[0], x[1] - y[1], x[2] - y[2]


@kernel
def scale(k: Scalar, x: Vector) -> Triple:
    """``k x``."""
    return k * x[0], k * x[1], k * x[2]


@kernel
def dot(x: Vector, y: Vector) -> Scalar:
    """``x . y``."""
    return x[0] * y[0] + x[1] * y[1] + x[2] * y[2]


@kernel
def cross(x: Vector, y: Vector) -> Triple:
    """``x x y``."""
    return x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]


@kernel
def set_vector(x: Vector, y: Array) -> None:
    """``y = x``."""
    y[0] = x[0]
    y[1] = x[1]
    y[2] = x[2]


@kernel
def angular(x: Array) -> Triple:
    """The angular half of a spatial vector."""
    return x[0], x[1], x[2]


@kernel
def linear(x: Array) -> Triple:
    """The linear half of a spatial vector."""
    return x[3], x[4], x[5]


@kernel
def set_angular(x: Vector, y: Array) -> None:
    """Set the angular half of the spatial vector ``y``."""
    y[0] = x[0]
    y[1] = x[1]
    y[2] = x[2]


@kernel
def set_linear(x: Vector, y: Array) -> None:
    """Set the linear half of the spatial vector ``y``."""
    y[3] = x[0]
    y[4] = x[1]
    y[5] = x[2]


@kernel
def add_to(n: Vector, f: Vector, y: Array) -> None:
    """Add ``[n; f]`` to the spatial vector ``y``."""
    y[0] += n[0]
    y[1] += n[1]
    y[2] += n[2]
    y[3] += f[0]
    y[4] += f[1]
    y[5] += f[2]


@kernel
def column(R: Array, k: int) -> Triple:
    """Column ``k`` of a 3 x 3 matrix."""
    return R[0, k], R[1, k], R[2, k]


@kernel
def rotate(R: Array, x: Vector) -> Triple:
    """``R x``."""
    return (
        R[0, 0] * x[0] + R[0, 1] * x[1] + R[0, 2] * x[2],
        R[1, 0] * x[0] + R[1, 1] * x[1] + R[1, 2] * x[2],
        R[2, 0] * x[0] + R[2, 1] * x[1] + R[2, 2] * x[2],
    )


@kernel
def rotate_inverse(R: Array, x: Vector) -> Triple:
    """``R' x``."""
    return (
        R[0, 0] * x[0] + R[1, 0] * x[1] + R[2, 0] * x[2],
        R[0, 1] * x[0] + R[1, 1] * x[1] + R[2, 1] * x[2],
        R[0, 2] * x[0] + R[1, 2] * x[1] + R[2, 2] * x[2],
    )


@kernel
def multiply(R: Array, Q: Array, P: Array) -> None:
    """``P = R Q`` for 3 x 3 matrices."""
    for k in range(3):
        x = rotate(R, column(Q, k))
        P[0, k] = x[0]
        P[1, k] = x[1]
        P[2, k] = x[2]


@kernel
def symmetric_product(I: Vector, x: Vector) -> Triple:
    """``I x`` for a symmetric matrix of six numbers ``xx xy xz yy yz zz``."""
    return (
        I[0] * x[0] + I[1] * x[1] + I[2] * x[2],
        I[1] * x[0] + I[3] * x[1] + I[4] * x[2],
        I[2] * x[0] + I[4] * x[1] + I[5] * x[2],
    )


@kernel
def rotate_symmetric_about_z(c: Scalar, s: Scalar, I: Vector) -> Six:
    """``Rz I Rz'`` of a symmetric matrix of six numbers, ``Rz`` the rotation about z by the angle of ``(c, s)``.

    With ``d = xx - yy`` and ``t = s d + 2 c xy`` the 2 x 2 corner becomes ``xx - s t``, ``yy + s t``, ``c t - xy``.
    """
    t = s * (I[0] - I[3]) + (c + c) * I[1]
    st = s * t
    return I[0] - st, c * t - I[1], c * I[2] - s * I[4], I[3] + st, s * I[2] + c * I[4], I[5]


@kernel
def rotate_symmetric(R: Array, I: Vector) -> Six:
    """``R I R'`` of a symmetric matrix of six numbers."""
    x = symmetric_product(I, R[0])
    y = symmetric_product(I, R[1])
    z = symmetric_product(I, R[2])
    return dot(x, R[0]), dot(x, R[1]), dot(x, R[2]), dot(y, R[1]), dot(y, R[2]), dot(z, R[2])


@kernel
def block(H: Array, o: int) -> Six:
    """A diagonal 3 x 3 block of ``H``, from its upper triangle."""
    return H[o, o], H[o, o + 1], H[o, o + 2], H[o + 1, o + 1], H[o + 1, o + 2], H[o + 2, o + 2]


@kernel
def set_block(x: Vector, H: Array, o: int) -> None:
    """Set the upper triangle of a diagonal 3 x 3 block."""
    H[o, o] = x[0]
    H[o, o + 1] = x[1]
    H[o, o + 2] = x[2]
    H[o + 1, o + 1] = x[3]
    H[o + 1, o + 2] = x[4]
    H[o + 2, o + 2] = x[5]


@kernel
def centripetal(w: Vector) -> Six:
    """The symmetric matrix ``W`` with ``W x = w x (w x x)``, as six numbers."""
    xx = w[0] * w[0]
    yy = w[1] * w[1]
    zz = w[2] * w[2]
    return -(yy + zz), w[0] * w[1], w[0] * w[2], -(xx + zz), w[1] * w[2], -(xx + yy)


@kernel
def set_acceleration_field(alpha: Vector, W: Vector, A: Array) -> None:
    """The matrix ``A`` of ``A x = alpha x x + omega x (omega x x)``, the acceleration of x less the origin's."""
    A[0, 0] = W[0]
    A[0, 1] = W[1] - alpha[2]
    A[0, 2] = W[2] + alpha[1]
    A[1, 0] = W[1] + alpha[2]
    A[1, 1] = W[3]
    A[1, 2] = W[4] - alpha[0]
    A[2, 0] = W[2] - alpha[1]
    A[2, 1] = W[4] + alpha[0]
    A[2, 2] = W[5]


@kernel
def euler_moment(I: Vector, A: Array) -> Triple:
    """Euler's equation: ``I alpha + omega x (I omega)``, from the matrix of `set_acceleration_field`."""
    xx = 0.5 * (I[3] + I[5] - I[0])
    yy = 0.5 * (I[0] + I[5] - I[3])
    zz = 0.5 * (I[0] + I[3] - I[5])
    return (
        A[2, 1] * yy - A[1, 2] * zz + (A[1, 1] - A[2, 2]) * I[4] + A[1, 0] * I[2] - A[2, 0] * I[1],
        A[0, 2] * zz - A[2, 0] * xx + (A[2, 2] - A[0, 0]) * I[2] + A[2, 1] * I[1] - A[0, 1] * I[4],
        A[1, 0] * xx - A[0, 1] * yy + (A[0, 0] - A[1, 1]) * I[1] + A[0, 2] * I[4] - A[1, 2] * I[2],
    )


@kernel
def set_rigid_inertia(mass: Scalar, mc: Vector, I: Vector, H: Array) -> None:
    """``H`` of a rigid body (upper triangle): ``A = I``, ``B = [mc]x``, ``C = m 1``."""
    set_block(I, H, 0)
    H[0, 3] = 0.0
    H[0, 4] = -mc[2]
    H[0, 5] = mc[1]
    H[1, 3] = mc[2]
    H[1, 4] = 0.0
    H[1, 5] = -mc[0]
    H[2, 3] = -mc[1]
    H[2, 4] = mc[0]
    H[2, 5] = 0.0
    set_block((mass, 0.0, 0.0, mass, 0.0, mass), H, 3)


@kernel
def add_rigid_inertia(mass: Scalar, mc: Vector, I: Vector, H: Array) -> None:
    """Add the inertia of a rigid body to ``H`` (upper triangle)."""
    x = block(H, 0)
    set_block((x[0] + I[0], x[1] + I[1], x[2] + I[2], x[3] + I[3], x[4] + I[4], x[5] + I[5]), H, 0)
    H[0, 4] -= mc[2]
    H[0, 5] += mc[1]
    H[1, 3] += mc[2]
    H[1, 5] -= mc[0]
    H[2, 3] -= mc[1]
    H[2, 4] += mc[0]
    for j in range(3, 6):
        H[j, j] += mass


@kernel
def symmetrize(H: Array) -> None:
    """Copy the upper triangle of a 6 x 6 matrix to the lower one."""
    for k in range(6):
        for j in range(k):
            H[k, j] = H[j, k]


@kernel
def rotate_inertia_about_z(c: Scalar, s: Scalar, H: Array) -> None:
    """Rotate a spatial inertia about z by the angle of ``(c, s)``: each block becomes ``Rz h Rz'``, in place."""
    set_block(rotate_symmetric_about_z(c, s, block(H, 0)), H, 0)
    # B is not symmetric: rotations about z leave the antisymmetric part of its 2 x 2 corner alone.
    total = H[0, 4] + H[1, 3]
    t = s * (H[0, 3] - H[1, 4]) + c * total
    st = s * t
    change = c * t - total
    H[0, 3] -= st
    H[1, 4] += st
    H[0, 4] += change
    H[1, 3] += change
    x = H[0, 5]
    y = H[1, 5]
    H[0, 5] = c * x - s * y
    H[1, 5] = s * x + c * y
    x = H[2, 3]
    y = H[2, 4]
    H[2, 3] = c * x - s * y
    H[2, 4] = s * x + c * y
    set_block(rotate_symmetric_about_z(c, s, block(H, 3)), H, 3)


@kernel
def rotate_inertia(R: Array, H: Array) -> None:
    """Rotate a spatial inertia: each block becomes ``R h R'``, in place."""
    set_block(rotate_symmetric(R, block(H, 0)), H, 0)
    x = rotate(R, (H[0, 3], H[0, 4], H[0, 5]))
    y = rotate(R, (H[1, 3], H[1, 4], H[1, 5]))
    z = rotate(R, (H[2, 3], H[2, 4], H[2, 5]))
    for k in range(3):
        b = rotate(R, (x[k], y[k], z[k]))
        H[0, 3 + k] = b[0]
        H[1, 3 + k] = b[1]
        H[2, 3 + k] = b[2]
    set_block(rotate_symmetric(R, block(H, 3)), H, 3)


@kernel
def add_shifted_inertia(r: Vector, H: Array, P: Array) -> None:
    """Add the spatial inertia ``H``, whose origin is at ``r``, to ``P`` (upper triangles; parallel axis theorem).

    ``C' = C``, ``B' = B + [r]x C``, ``A' = A + [r]x B'^T + ([r]x B^T)^T``.
    """
    b0 = (H[0, 3], H[0, 4], H[0, 5])
    b1 = (H[1, 3], H[1, 4], H[1, 5])
    b2 = (H[2, 3], H[2, 4], H[2, 5])
    k0 = cross(r, (H[3, 3], H[3, 4], H[3, 5]))
    k1 = cross(r, (H[3, 4], H[4, 4], H[4, 5]))
    k2 = cross(r, (H[3, 5], H[4, 5], H[5, 5]))
    n0 = (b0[0] + k0[0], b0[1] + k1[0], b0[2] + k2[0])
    n1 = (b1[0] + k0[1], b1[1] + k1[1], b1[2] + k2[1])
    n2 = (b2[0] + k0[2], b2[1] + k1[2], b2[2] + k2[2])
    P[0, 0] += H[0, 0] + (r[1] * (n0[2] + b0[2]) - r[2] * (n0[1] + b0[1]))
    P[1, 1] += H[1, 1] + (r[2] * (n1[0] + b1[0]) - r[0] * (n1[2] + b1[2]))
    P[2, 2] += H[2, 2] + (r[0] * (n2[1] + b2[1]) - r[1] * (n2[0] + b2[0]))
    P[0, 1] += H[0, 1] + ((r[1] * n1[2] - r[2] * n1[1]) + (r[2] * b0[0] - r[0] * b0[2]))
    P[0, 2] += H[0, 2] + ((r[1] * n2[2] - r[2] * n2[1]) + (r[0] * b0[1] - r[1] * b0[0]))
    P[1, 2] += H[1, 2] + ((r[2] * n2[0] - r[0] * n2[2]) + (r[0] * b1[1] - r[1] * b1[0]))
    for k in range(3):
        P[0, 3 + k] += n0[k]
        P[1, 3 + k] += n1[k]
        P[2, 3 + k] += n2[k]
    P[3, 3] += H[3, 3]
    P[3, 4] += H[3, 4]
    P[3, 5] += H[3, 5]
    P[4, 4] += H[4, 4]
    P[4, 5] += H[4, 5]
    P[5, 5] += H[5, 5]


@kernel
def add_outer_square(mu: Scalar, K: Array, H: Array) -> None:
    """``H = H + mu K K'`` (upper triangle)."""
    x = (K[0], K[1], K[2], K[3], K[4], K[5])
    for j in range(6):
        y = mu * x[j]
        for k in range(j, 6):
            H[j, k] += y * x[k]


@kernel
def add_outer_product(mu: Scalar, A: Array, B: Array, C: Array) -> None:
    """``C = C + mu A B'``."""
    x = (A[0], A[1], A[2], A[3], A[4], A[5])
    y = (B[0], B[1], B[2], B[3], B[4], B[5])
    for j in range(6):
        z = mu * x[j]
        for k in range(6):
            C[j, k] += z * y[k]


@kernel
def subtract_symmetric_product(A: Array, B: Array, H: Array) -> None:
    """``H = H - A B'``, which is symmetric (upper triangle)."""
    x = (A[0], A[1], A[2], A[3], A[4], A[5])
    y = (B[0], B[1], B[2], B[3], B[4], B[5])
    for j in range(6):
        for k in range(j, 6):
            H[j, k] -= x[j] * y[k]


@kernel
def subtract_scaled(x: Scalar, K: Array, f: Array) -> None:
    """``f = f - x K``; all is read before anything is written, so that it can be vectorized."""
    k = (K[0], K[1], K[2], K[3], K[4], K[5])
    old = (f[0], f[1], f[2], f[3], f[4], f[5])
    for j in range(6):
        f[j] = old[j] - k[j] * x

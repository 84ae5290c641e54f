# SPDX-License-Identifier: BSD-3-Clause
"""Rows of constraints made orthogonal in the metric of the inverse mass matrix: modified Gram-Schmidt.

With ``M^-1 = L^-1 D L^-T`` and ``Jc = J L^-1``, combinations ``E J`` of the rows have a diagonal ``E J M^-1 J' E' = 1 /
pivot``. They replace a factor of ``J M^-1 J'``, whose inverse is ``X = E' pivot E``; accelerations by forces of rows
are ``M^-1 J' X = L^-1 D Q pivot E``. Factors of ``J M^-1 J'`` itself would lose twice as many digits where rows are
nearly dependent: errors are those of rounding times the condition of the rows, not its square (Bjoerck, Numerical
Methods for Least Squares Problems, Section 2.4).

A pivot that is only rounding is zero: its row depends on rows before it, and its combination ``n``, a row of ``Z``, has
``n J = 0``. The smallest forces in the metric of the weights R are those with ``E = Z P'``::

    P = 1 - N' (N R N')^-1 N R,        N: the null combinations in rows

and where right-hand sides contradict each other, ``P'`` removes the contradiction: X is the pseudoinverse in this
metric, the limit of proximal iterations with R.

Which pivots count as zero is decided as singular values are (`closure.mobility.rank_cut`): a combination ``z`` of rows
whose norm is a part ``cut`` of its own, ``|z J| <= cut |z|``, bounds the least singular value by ``cut``. The norm of
``z`` counts, not that of its first row: where short rows come before long ones, combinations are long, and the
remainder of a dependent row, by rounding of numbers in a file, is as long as a row. On loops that are open by less than
`ROUNDED`, remainders of at most `OPEN` times the gap count as zero, too. Structurally zero rows have no forces, and no
part in ``N``.

Omitting a row changes the others by its remainder, and a rank near its threshold may differ from that by singular
values: such factors are marked ``uncertain``, and singular values are used instead (`dynamics.jacobians.dense`).

| symbol | meaning                                                                            |
|--------|------------------------------------------------------------------------------------|
| Qr     | Q: columns are the orthogonal rows, ``Q' = Z Jc``; first ``Jc`` itself             |
| Zr     | Z: combinations, in columns: ``Zr[j, r]`` of row j in the orthogonal row r         |
| Er     | E: the same of the smallest forces, in rows                                        |
| root   | norms of the rows                                                                  |
| pivot  | 1 / squared norm of orthogonal rows; zero where a row depends on others            |
| null   | 1 where a row depends on others, else 0                                            |
| zero   | square of the part of a combination below which it counts as zero                  |
| size   | squared norms of combinations, in units of rows                                    |
| floor  | squared norms of rows that count as zero                                           |
| clear  | least squared norm of an independent combination, as a part of its size            |
| uncertain | square of the change of others by omitted rows; in the end, 1 where it is too large |
| part   | pivots that count as zero, as a part of the squared norm of the row                |
| share  | parts of one orthogonal row in those after it                                      |
| Cn     | ``N R N'``, and ones on the diagonal of independent rows                           |

Cost: O(m² n + m³) for m rows and n degrees of freedom that they bind, four rows in one instruction.
"""

from __future__ import annotations

from linkwork.kernels.algorithm import Shape
from linkwork.kernels.elementary import magnitude, maximum
from linkwork.kernels.panels import ZERO, entries, minus_scaled, plus_scaled, scaled, set_entries
from linkwork.kernels.scalar import Array, Scalar, any_below, kernel, sqrt, where
from linkwork.kernels.thresholds import CLEARLY_INDEPENDENT, DISABLED
from linkwork.kernels.tree.aba import factorize_ldl, solve_ldl
from linkwork.plans.aba_derivatives import LINE

ORTHOGONAL: dict[str, Shape] = {
    "Qr": ("nv", "nrow_columns"),
    "Zr": ("nc", "nrow_columns"),
    "Er": ("nc", "nrow_columns"),
    "Cn": ("nc", "nc"),
    "pivot": ("nrow_columns",),
    "null": ("nc",),
    "row": ("nc",),
    "root": ("nc",),
    "share": ("nrow_columns",),
    "floor": ("nc",),
    "part": (1,),
    "zero": (1,),
    "uncertain": (1,),
    "clear": (1,),
}
CUTS = 6
"""Thresholds of zero: part of a row, rounding of a sum of rows, part of a combination, `OPEN` and `ROUNDED`
(`closure.thresholds`), and the square of `LEFT_OUT`."""
CLEAR = 1e4
"""Independent combinations are longer than those that count as zero by at least the root of this."""


@kernel
def begin_rows(tree: Array, w: Array, softness: Array) -> None:
    """``Z = 1``, and norms of rows; those that are not enabled count as rows without entries."""
    for j in range(tree.nc):
        for c in range(tree.nrow_columns):
            w.Zr[j, c] = 1.0 if c == j else 0.0
    for c in range(tree.nrow_columns):
        w.pivot[c] = 0.0
    for r in range(tree.nc):
        on = where(softness[r], DISABLED, 1.0, 0.0)
        square = on * where(softness[r], DISABLED, softness[r], 0.0) if tree.soft != 0 else 0.0
        for b in range(tree.nbound):
            k = tree.bound[b]
            w.Qr[k, r] = on * w.Qr[k, r]
            square = square + w.D[k] * (w.Qr[k, r] * w.Qr[k, r])
        w.root[r] = sqrt(where(0.0, square, square, 0.0))


@kernel
def set_zeros(tree: Array, w: Array, cut: Array, row_scale: Array, row_units: Array) -> None:
    """``floor`` and ``part``, by the gap of loops: their largest error, ``row_units`` being 1 / (unit of an error)."""
    gap = 0.0
    for r in range(tree.nc):
        e = w.error[r] * row_units[r]
        gap = maximum(gap, magnitude(e))
    hindered = where(cut[4], gap, 0.0, cut[3] * gap)
    w.part[0] = maximum(cut[0], hindered * hindered)
    w.zero[0] = maximum(cut[2], hindered * hindered)
    w.uncertain[0] = 0.0
    w.clear[0] = 1.0
    for r in range(tree.nc):
        w.floor[r] = w.zero[0] * row_scale[r]


@kernel
def row_pivot(tree: Array, w: Array, softness: Array, cut: Array, row_scale: Array, r: int) -> Scalar:
    """``pivot`` and ``null`` of row ``r``; returns its squared norm relative to that of the row as it was given.

    It is zero below ``part`` of that norm, below ``zero`` of the squared norm of its combination, and below what
    rounding may leave of a sum of rows, ``cut[1]`` of ``(sum |z_k| root_k)²``.
    """
    on = where(softness[r], DISABLED, 1.0, 0.0)
    square = 0.0
    for b in range(tree.nbound):
        k = tree.bound[b]
        square = square + w.D[k] * (w.Qr[k, r] * w.Qr[k, r])
    noise = 0.0
    others = 0.0
    for j in range(r + 1):
        z = w.Zr[j, r]
        if tree.soft != 0:
            square = square + where(softness[j], DISABLED, softness[j], 0.0) * (z * z)
        noise = noise + magnitude(z) * w.root[j]
        if j < r:
            others = others + (z * z) * row_scale[j]
    size = others + row_scale[r]
    before = w.root[r] * w.root[r]
    rounding = cut[1] * (noise * noise)
    bound = maximum(maximum(w.part[0] * before, rounding), w.zero[0] * size)
    pivot = where(bound, square, on, 0.0)
    if tree.soft == 0:
        # to make the row exactly dependent, the rows that z combines would change by |z J| / |z|, each by its part of z
        changed = where(rounding, square, (square * others) / (size * size), 0.0)
        unclear = where(maximum(rounding, w.zero[0] * size), square, 1.0, changed)
        w.uncertain[0] = maximum(w.uncertain[0], (on - pivot) * where(w.floor[r], before, unclear, 0.0))
        part = where(0.0, pivot, square / size, 1.0)
        w.clear[0] = where(part, w.clear[0], part, w.clear[0])
    w.pivot[r] = where(0.0, pivot, 1.0 / where(bound, square, square, 1.0), 0.0)
    w.null[r] = where(w.floor[r], before, on - pivot, 0.0)
    relative = where(0.0, pivot, square / where(0.0, before, before, 1.0), 0.0)
    return where(0.5, on, relative, 1.0)


@kernel
def subtract_row(tree: Array, w: Array, softness: Array, r: int) -> None:
    """Take the orthogonal row ``r`` off the rows after it, four at a time."""
    for c in range(LINE * (r // LINE), tree.nrow_columns, LINE):
        x = ZERO
        for b in range(tree.nbound):
            k = tree.bound[b]
            x = plus_scaled(x, w.D[k] * w.Qr[k, r], entries(w.Qr[k], c))
        if tree.soft != 0:
            for j in range(r + 1):
                soft = where(softness[j], DISABLED, softness[j], 0.0)
                x = plus_scaled(x, soft * w.Zr[j, r], entries(w.Zr[j], c))
        set_entries(scaled(w.pivot[r], x), w.share, c)
        for s in range(c, r + 1):  # of rows up to this one, nothing
            w.share[s] = 0.0
        x = entries(w.share, c)
        for b in range(tree.nbound):
            k = tree.bound[b]
            set_entries(minus_scaled(entries(w.Qr[k], c), w.Qr[k, r], x), w.Qr[k], c)
        for j in range(r + 1):
            set_entries(minus_scaled(entries(w.Zr[j], c), w.Zr[j, r], x), w.Zr[j], c)


@kernel
def smallest_forces(tree: Array, w: Array, R: Array) -> None:
    """``E = Z P'``, after `orthogonal_rows`."""
    n = tree.nc
    for r in range(n):
        for s in range(r + 1):
            x = 0.0
            for k in range(s + 1):
                x = x + w.Zr[k, r] * (where(R[k], DISABLED, R[k], 0.0) * w.Zr[k, s])
            x = (w.null[r] * w.null[s]) * x
            w.Cn[r, s] = x + (1.0 - w.null[r]) if r == s else x
    factorize_ldl(n, w.Cn)
    for _ in range(2):  # twice, since rounding errors are large where nearly dependent rows are taken for redundant
        for r in range(n):
            for s in range(n):
                x = 0.0
                for k in range(s + 1):
                    x = x + w.Zr[k, s] * (where(R[k], DISABLED, R[k], 0.0) * w.Er[r, k])
                w.row[s] = w.null[s] * x
            solve_ldl(n, w.Cn, w.row)
            for k in range(n):
                x = w.Er[r, k]
                for s in range(k, n):
                    x = x - (w.null[s] * w.row[s]) * w.Zr[k, s]
                w.Er[r, k] = x


@kernel
def orthogonal_rows(
    tree: Array, w: Array, softness: Array, R: Array, cut: Array, row_scale: Array, row_units: Array
) -> Scalar:
    """``Q``, ``E`` and ``pivot`` of the rows in ``Q``; returns the least pivot, relative to its row. Errors of rows are
    in ``error``.

    Where ``tree.redundant`` is 0, no dependent rows are expected: where a state has some, their forces are zero.
    ``uncertain`` is 1 where the rank is near its threshold, or omitted rows are more than rounding.
    """
    begin_rows(tree, w, softness)
    set_zeros(tree, w, cut, row_scale, row_units)
    least = 1.0
    for r in range(tree.nc):
        relative = row_pivot(tree, w, softness, cut, row_scale, r)
        least = where(relative, least, relative, least)
        subtract_row(tree, w, softness, r)
    uncertain = where(cut[5] * w.clear[0], w.uncertain[0], 1.0, 0.0)
    uncertain = where(w.clear[0], CLEAR * w.zero[0], 1.0, uncertain)
    w.uncertain[0] = where(0.0, cut[5], uncertain, 0.0)
    for r in range(tree.nc):
        for c in range(tree.nrow_columns):
            w.Er[r, c] = w.Zr[c, r] if c <= r else 0.0
    if tree.redundant != 0:
        if any_below(least, CLEARLY_INDEPENDENT):
            smallest_forces(tree, w, R)
    return least


@kernel
def marked_pivot(w: Array, least: Scalar) -> Scalar:
    """The pivot ``least`` of `orthogonal_rows`; -1 where its rank is uncertain."""
    return where(0.5, w.uncertain[0], -1.0, least)


@kernel
def times_combinations(tree: Array, w: Array, least: Scalar, x: Array, y: Array) -> None:
    """``y = x E`` of a row x, padded with zeros; ``least`` is the pivot that `orthogonal_rows` returned."""
    for c in range(0, tree.nrow_columns, LINE):
        z = ZERO
        for s in range(c, tree.nc):
            z = plus_scaled(z, x[s], entries(w.Er[s], c))
        set_entries(z, y, c)
    if tree.redundant != 0:
        if any_below(least, CLEARLY_INDEPENDENT):  # else E is triangular
            for c in range(LINE, tree.nrow_columns, LINE):
                z = entries(y, c)
                for s in range(c):
                    z = plus_scaled(z, x[s], entries(w.Er[s], c))
                set_entries(z, y, c)


@kernel
def inverse_of_rows(tree: Array, w: Array, least: Scalar, X: Array) -> None:
    """``X = E' pivot E``, rows padded with zeros."""
    for r in range(tree.nc):
        for s in range(tree.nc):
            w.row[s] = w.Er[s, r] * w.pivot[s]
        times_combinations(tree, w, least, w.row, X[r])

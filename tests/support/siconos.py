# SPDX-License-Identifier: BSD-3-Clause
"""Friction problems of Siconos' tests: files of ``u = W f + q``, of its global form, and with rolling friction.

A file has the rows of a contact (2, 3 or 5), the number of contacts, a matrix (dense by columns, sparse by blocks, or
as CSparse prints it), a vector, and coefficients of friction. The normal is the first row of a contact.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FOLDER = Path(os.environ.get("LINKWORK_VALIDATION", Path(__file__).parents[3] / "shared" / "validation")) / "friction"


@dataclass(frozen=True)
class FrictionProblem:
    """``u = W f + q``, the normal first in each contact."""

    name: str
    rows: int
    """Of a contact: 2 in the plane, 3, or 5 with rolling."""
    W: Floats
    q: Floats
    mu: Floats
    rolling: Floats | None

    def residual(self, f: Floats) -> float:
        """``max |D (f - P(f - (u + Gamma(u)) / D))|``: the natural map with De Saxcé's term, a velocity."""
        largest = 0.0
        u = (self.W @ f + self.q).reshape(-1, self.rows)
        D = np.diagonal(self.W).reshape(-1, self.rows)[:, :3].mean(axis=1)
        for k, (force, velocity) in enumerate(zip(f.reshape(-1, self.rows), u, strict=True)):
            discs = [(slice(1, 3), self.mu[k])]
            if self.rolling is not None:
                discs.append((slice(3, 5), self.rolling[k]))
            w = velocity.copy()
            w[0] += sum(mu * np.linalg.norm(velocity[part]) for part, mu in discs)
            x = force - w / D[k]
            largest = max(largest, D[k] * float(np.linalg.norm(force - project(x, discs))))
        return largest


def project(x: Floats, discs: list[tuple[slice, float]]) -> Floats:
    """The force nearest to ``x`` with ``|f_part| <= mu f_0`` of each disc: ``f_0`` by bisection of the derivative."""

    def slope(n: float) -> float:
        return float(n - x[0] - sum(mu * max(float(np.linalg.norm(x[part])) - mu * n, 0.0) for part, mu in discs))

    f = x.copy()
    if slope(0.0) >= 0:
        return np.zeros_like(x)
    low, high = 0.0, max(x[0], 0.0) + sum(mu * float(np.linalg.norm(x[part])) for part, mu in discs) + 1.0
    active: list[tuple[slice, float]] = []
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    active = [(part, mu) for part, mu in discs if float(np.linalg.norm(x[part])) > mu * high]
    top = x[0] + sum(mu * float(np.linalg.norm(x[part])) for part, mu in active)
    f[0] = top / (1 + sum(mu * mu for _, mu in active))  # exact, once it is known which discs bind
    for part, mu in active:
        f[part] *= mu * f[0] / np.linalg.norm(x[part])
    return f


class Reader:
    """Numbers of a file, one after the other."""

    def __init__(self, path: Path) -> None:
        self.words = path.read_text().split()
        self.at = 0

    def whole(self) -> int:
        self.at += 1
        return int(self.words[self.at - 1])

    def vector(self, n: int) -> Floats:
        self.at += n
        return np.array([float(x) for x in self.words[self.at - n : self.at]])

    def matrix(self) -> Floats:
        kind, rows, columns = self.whole(), self.whole(), self.whole()
        if kind == 0:
            a, b = self.whole(), self.whole()
            return self.vector(a * b).reshape(a, b, order="F")
        return self.blocks(rows, columns) if kind == 1 else self.printed(rows, columns)

    def blocks(self, rows: int, columns: int) -> Floats:
        """Sparse by blocks: a CSR matrix of dense blocks."""
        _, high, wide = self.whole(), self.whole(), self.whole()
        ends = [0, *(self.whole() for _ in range(high))]
        sides = [0, *(self.whole() for _ in range(wide))]
        counts = self.whole(), self.whole()
        starts, column = ([self.whole() for _ in range(n)] for n in counts)
        matrix = np.zeros((rows, columns))
        for i in range(len(starts) - 1):
            for k in range(starts[i], starts[i + 1]):
                self.whole()
                a, b = slice(ends[i], ends[i + 1]), slice(sides[column[k]], sides[column[k] + 1])
                shape = a.stop - a.start, b.stop - b.start
                matrix[a, b] = self.vector(shape[0] * shape[1]).reshape(shape, order="F")
        return matrix

    def printed(self, rows: int, columns: int) -> Floats:
        """As CSparse prints it: ``col 0 : locations 0 to 9`` and lines ``row : value``."""
        text = " ".join(self.words[self.at :])
        matrix = np.zeros((rows, columns))
        last = 0
        for found in re.finditer(r"col (\d+) : locations \d+ to \d+((?: \d+ : \S+)*)", text):
            for entry in re.finditer(r"(\d+) : (\S+)", found[2]):
                matrix[int(entry[1]), int(found[1])] = float(entry[2])
            last = found.end()
        self.words, self.at = text[last:].split(), 0
        return matrix


def friction_problem(path: Path) -> FrictionProblem:
    """The problem of a file."""
    reader = Reader(path)
    rows, contacts = reader.whole(), reader.whole()
    m = rows * contacts
    if path.name.startswith("GFC3D") and "condensed" not in path.name:  # M v = q + H f, u = H' v + b
        M, H = reader.matrix(), reader.matrix()
        q, b = reader.vector(len(M)), reader.vector(m)
        W, q = H.T @ np.linalg.solve(M, H), H.T @ np.linalg.solve(M, q) + b
    else:
        W, q = reader.matrix(), reader.vector(m)
    mu = reader.vector(contacts)
    return FrictionProblem(path.stem, rows, (W + W.T) / 2, q, mu, reader.vector(contacts) if rows == 5 else None)


def friction_files() -> list[Path]:
    """All files, without those that are not there."""
    return sorted(FOLDER.glob("*.dat")) if FOLDER.is_dir() else []

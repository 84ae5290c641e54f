# SPDX-License-Identifier: BSD-3-Clause
"""The explicit matrix in LAPACK: how it is made, factored and solved with.

OpenBLAS shares large products among cores; `one_thread` keeps it from that, so that one core is compared with one core.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import scipy
import scipy.linalg.lapack as lapack

from linkwork_benchmarks.robots import Floats

_SETTERS = ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads", "openblas_set_num_threads")


def one_thread() -> bool:
    """Keep the OpenBLAS of NumPy and SciPy on one thread; False where it was not found in their wheels."""
    found = []
    for package in (np, scipy):
        folder = Path(str(package.__file__)).parent.parent / f"{package.__name__}.libs"
        for library in sorted(folder.glob("*openblas*")):
            handle = ctypes.CDLL(str(library))
            setter = next((getattr(handle, name) for name in _SETTERS if hasattr(handle, name)), None)
            if setter is not None:
                setter(ctypes.c_int(1))
                found.append(package.__name__)
    return len(set(found)) == 2


def factored(matrix: Floats, damping: float) -> Floats:
    """The Cholesky factor of ``matrix + damping``."""
    factor, status = lapack.dpotrf(_damped(matrix, damping), lower=1, overwrite_a=1)
    if status:
        raise np.linalg.LinAlgError(f"dpotrf stopped at row {status}")
    found: Floats = factor
    return found


def solve(factor: Floats, x: Floats) -> Floats:
    """With the factor of `factored`."""
    found: Floats = lapack.dpotrs(factor, x, lower=1)[0]
    return found


def _damped(matrix: Floats, damping: float) -> Floats:
    """A copy in Fortran's order, with the damping on its diagonal."""
    found: Floats = np.array(matrix, order="F")
    found.ravel(order="K")[:: len(found) + 1] += damping
    return found


def made(M: Floats, J: Floats) -> Floats:
    """``J M^-1 J'`` from M, upper triangles both: Cholesky, a triangular solve, a symmetric product."""
    U, _ = lapack.dpotrf(M, lower=0)
    Y, _ = lapack.dtrtrs(U, J.T, lower=0, trans=1)
    found: Floats = scipy.linalg.blas.dsyrk(1.0, Y, trans=1, lower=0)
    return found

# SPDX-License-Identifier: BSD-3-Clause
"""Functions of one number from data: tables, splines, motion profiles of machine design."""

from linkwork.model.profiles import (
    Profile,
    cycloidal,
    from_scipy,
    modified_sine,
    periodic,
    polynomial_345,
    sequence,
    spline,
    table,
    trapezoid,
)

__all__ = [
    "Profile",
    "cycloidal",
    "from_scipy",
    "modified_sine",
    "periodic",
    "polynomial_345",
    "sequence",
    "spline",
    "table",
    "trapezoid",
]

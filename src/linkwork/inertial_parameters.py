# SPDX-License-Identifier: BSD-3-Clause
"""Ten inertial parameters of a body, and coordinates in which they are physically consistent."""

from linkwork.model.inertial_parameters import (
    from_log_cholesky,
    from_log_cholesky_jacobian,
    from_pseudo_inertia,
    is_physically_consistent,
    log_cholesky,
    log_cholesky_jacobian,
    nearest_physically_consistent,
    pseudo_inertia,
)

__all__ = [
    "from_log_cholesky",
    "from_log_cholesky_jacobian",
    "from_pseudo_inertia",
    "is_physically_consistent",
    "log_cholesky",
    "log_cholesky_jacobian",
    "nearest_physically_consistent",
    "pseudo_inertia",
]

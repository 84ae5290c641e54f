# SPDX-License-Identifier: BSD-3-Clause
"""Forward and inverse dynamics, impacts, operational space, the Delassus operator, equilibria."""

# SPDX-License-Identifier: BSD-3-Clause
"""Constraints and the methods that solve with them: rows, forward dynamics, Delassus matrices, impacts, assembly."""

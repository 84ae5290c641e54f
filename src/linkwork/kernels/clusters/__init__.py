# SPDX-License-Identifier: BSD-3-Clause
"""Clusters of bodies: explicit constraints, and dynamics in independent coordinates."""

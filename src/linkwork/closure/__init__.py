# SPDX-License-Identifier: BSD-3-Clause
"""Loops: assembly, mobility, minimal coordinates, actuation through linkages."""

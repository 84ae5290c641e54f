# SPDX-License-Identifier: BSD-3-Clause
"""Loops: closing them, what they leave free, minimal coordinates, actuation through linkages."""

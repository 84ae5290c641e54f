# SPDX-License-Identifier: BSD-3-Clause
"""The model of a robot: bodies, joints, frames and constraints, immutable."""

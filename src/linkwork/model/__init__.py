# SPDX-License-Identifier: BSD-3-Clause
"""What a robot is: bodies, joints, frames and constraints, immutable."""

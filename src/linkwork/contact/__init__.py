# SPDX-License-Identifier: BSD-3-Clause
"""Contact with friction: steps in time of robots that touch the ground, each other and themselves."""

# SPDX-License-Identifier: BSD-3-Clause
"""Models and states of other libraries: `from_pinocchio`, `pinocchio_map`, `from_mujoco`, `mujoco_map`."""

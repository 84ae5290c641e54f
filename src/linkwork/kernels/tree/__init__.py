# SPDX-License-Identifier: BSD-3-Clause
"""Trees: kinematics, forward and inverse dynamics, matrices of the equation of motion, tendons and actuators."""

# SPDX-License-Identifier: BSD-3-Clause
"""Steps of many robots on a GPU beside MuJoCo Warp: the same files, states and time steps, on the same machine."""

# SPDX-License-Identifier: BSD-3-Clause
"""The study of environments: steps a second of `linkwork.gym`, beside Gymnasium's hopper on MuJoCo."""

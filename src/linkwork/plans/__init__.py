# SPDX-License-Identifier: BSD-3-Clause
"""The symbolic phase: topology looked at once, frozen into integer arrays for kernels."""

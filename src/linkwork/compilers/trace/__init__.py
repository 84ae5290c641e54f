# SPDX-License-Identifier: BSD-3-Clause
"""Kernels run on symbols: straight-line programs, their derivatives, and their LLVM IR."""

# SPDX-License-Identifier: BSD-3-Clause
"""The language of kernels, and its compiler to LLVM IR."""

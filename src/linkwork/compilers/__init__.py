# SPDX-License-Identifier: BSD-3-Clause
"""Three backends of kernels: plain Python, native code, straight-line programs, both through LLVM."""

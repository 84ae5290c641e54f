# SPDX-License-Identifier: BSD-3-Clause
"""Three ways to run kernel text: plain Python, native code, straight-line programs, both through LLVM."""

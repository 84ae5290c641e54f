# SPDX-License-Identifier: BSD-3-Clause
"""Straight-line programs as WebAssembly: modules of functions over one memory of doubles, without imports.

| file       | task                                                                        |
|------------|-----------------------------------------------------------------------------|
| binary     | the binary format: integers, instructions, sections                         |
| part_code  | a part of a trace as the body of a function: operand stack and locals       |
| sincos     | sine and cosine with fused multiply-adds made of products and sums          |
| module     | several programs as one module: memory, iterations as loops, exports        |
"""

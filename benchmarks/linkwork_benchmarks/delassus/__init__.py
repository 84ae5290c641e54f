# SPDX-License-Identifier: BSD-3-Clause
"""The Delassus operator as the papers measure it: commands ``delassus`` and ``delassus_page``.

| file        | what it knows                                                                        |
|-------------|--------------------------------------------------------------------------------------|
| robots      | robots of model files in contact: which points touch                                 |
| scenarios   | what is measured, as data: scenes, families, robots, methods, sizes                  |
| backends        | linkwork's operators as contenders, by every backend                              |
| dense       | the explicit matrix in LAPACK, on one thread                                          |
| pinocchio   | contacts and joint friction in Pinocchio, and its routes to the matrix as contenders |
| counts      | exact operations of the matrix, its parts and its factor                             |
| studies     | how each kind of scenario is measured                                                |
| papers      | the papers' numbers                                                                  |
| bars        | what is asked of the numbers, and whether results show it                            |
| plots, page | results to SVG and Markdown                                                          |
"""

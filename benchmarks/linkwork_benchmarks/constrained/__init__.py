# SPDX-License-Identifier: BSD-3-Clause
"""Constrained dynamics as the papers measure it: ``python -m linkwork_benchmarks constrained``, then ``... page``.

| file        | what it knows                                                               |
|-------------|-----------------------------------------------------------------------------|
| scenarios   | what is measured, as data: systems, families, methods, sizes                |
| states      | random states on the constraints                                            |
| pinocchio   | a mechanism with points and welds in Pinocchio, and its solvers as contenders |
| mujoco      | the same in MuJoCo                                                          |
| ours        | linkwork's methods as contenders                                            |
| studies     | how each kind of scenario is measured                                       |
| bars        | what is asked of the times, and whether results show it                     |
| plots, page | results to SVG and Markdown                                                 |
"""

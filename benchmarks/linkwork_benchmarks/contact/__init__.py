# SPDX-License-Identifier: BSD-3-Clause
"""Contact with friction beside Pinocchio's solvers and MuJoCo: commands ``contact`` and ``contact_page``.

| file        | what it knows                                                                         |
|-------------|---------------------------------------------------------------------------------------|
| piles       | stacks and pyramids of boxes as Delassus matrices, written down by hand               |
| scenarios   | what is measured, as data: piles, families that grow                                  |
| pinocchio   | its ADMM and projected Gauss-Seidel on the same matrix, to the same residual          |
| ours        | solvers on the matrix, and whole steps                                                |
| motion      | steps one after the other, with the accounts of energy                                |
| physics     | sliding, rolling, holding, falling: figures of mechanics, and energy of all scenes    |
| impacts     | violent impacts at random                                                             |
| robustness  | random scenes that are hard on purpose                                                |
| mujoco      | the same scenes in MuJoCo                                                             |
| motions     | these motions as data, and how they are measured                                      |
| studies     | how each kind of scenario is measured                                                 |
| bars        | what is asked of the numbers, and whether results show it                             |
| page, motion_page | results to Markdown                                                             |
"""

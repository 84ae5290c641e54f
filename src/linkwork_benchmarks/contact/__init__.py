# SPDX-License-Identifier: BSD-3-Clause
"""Contact with friction beside Pinocchio's solvers: commands ``contact`` and ``contact_page``.

| file        | what it knows                                                                         |
|-------------|---------------------------------------------------------------------------------------|
| piles       | stacks and pyramids of boxes as Delassus matrices, written down by hand               |
| scenarios   | what is measured, as data: piles, families that grow                                  |
| pinocchio   | its ADMM and projected Gauss-Seidel on the same matrix, to the same residual          |
| ours        | solvers on the matrix, and whole steps                                                |
| studies     | how each kind of scenario is measured                                                 |
| bars        | what is asked of the numbers, and whether results show it                             |
| page        | results to Markdown                                                                   |
"""

# SPDX-License-Identifier: BSD-3-Clause
"""Transmissions in robots as **clusters** measures them: commands ``clusters`` and ``clusters_page``.

| file        | what it knows                                                                 |
|-------------|-------------------------------------------------------------------------------|
| robots      | the systems, the trees that they are without rotors, one leg of MIT's humanoid |
| scenarios   | what is measured, as data: systems, families, methods, sizes                  |
| projected   | projected RNEA, which linkwork has no call for                                |
| backends        | linkwork's evaluators as contenders, by every backend                      |
| pinocchio   | a tree in Pinocchio, and its functions as contenders                          |
| studies     | how each kind of scenario is measured                                         |
| leg         | torques of one leg, exact and not (Fig. 14)                                   |
| orders      | who needs less than whom, and whether the paper says the same                 |
| papers      | the paper's numbers                                                           |
| plots, page | results to SVG and Markdown                                                   |
"""

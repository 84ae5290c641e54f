# SPDX-License-Identifier: BSD-3-Clause
"""Jacobians of dynamics, beside Pinocchio's.

| file         | what it knows                                                     |
|--------------|-------------------------------------------------------------------|
| scenarios.py | what is measured, as data                                         |
| studies.py   | how each kind of scenario is measured                             |
| page.py      | docs/internals/derivatives-benchmarks.md from a result file                 |
"""

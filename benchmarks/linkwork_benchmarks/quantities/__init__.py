# SPDX-License-Identifier: BSD-3-Clause
"""Functions of a state, beside Pinocchio's.

| file         | what it knows                                                       |
|--------------|---------------------------------------------------------------------|
| scenarios.py | what is measured, as data                                           |
| pairs.py     | each quantity: how to ask linkwork, how to ask Pinocchio            |
| studies.py   | how a quantity is measured: results are compared first              |
| page.py      | the tables on docs/internals/performance.md, from a result file               |
"""

# SPDX-License-Identifier: BSD-3-Clause
"""Motion in time: what it conserves, where peers' motion leads, and how fast it goes.

| file         | what it knows                                                     |
|--------------|-------------------------------------------------------------------|
| scenarios.py | what is measured, as data                                         |
| systems.py   | robots that are ready to move                                     |
| peers.py     | the same motion in Pinocchio and in MuJoCo                        |
| studies.py   | how each kind of scenario is measured                             |
| page.py      | docs/internals/simulation-benchmarks.md from a result file                  |
"""

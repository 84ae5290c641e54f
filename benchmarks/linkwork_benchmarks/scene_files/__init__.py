# SPDX-License-Identifier: BSD-3-Clause
"""Contact in scenes of others: robot files with all their collision shapes, piles of bodies, beside ``mj_step``.

| file          | what it knows                                                                    |
|---------------|----------------------------------------------------------------------------------|
| scenarios.py  | what is measured, as data                                                        |
| files.py      | scenes that are files, and those composed of files                               |
| texts.py      | scenes that are written here: piles, boxes, a quadruped on a height field         |
| systems.py    | a scene in linkwork and in MuJoCo, at the same start                              |
| motions.py    | times of steps, one state and batches, and what the steps report                  |
| first_call.py | a process that makes the first step of a robot                                    |
| studies.py    | how each kind of scenario is measured                                             |
| earlier.py    | times of before, and where they are printed                                       |
| page.py       | docs/internals/scenes-benchmarks.md, and a table in docs/how-to/contact.md, from a result file     |
"""

# SPDX-License-Identifier: BSD-3-Clause
"""Dynamics and steps on a GPU, with arrays of torch.

| file         | what it knows                                                     |
|--------------|-------------------------------------------------------------------|
| scenarios.py | what is measured, as data                                         |
| studies.py   | how each kind of scenario is measured                             |
| mjx.py       | steps of MJX, in a process of its own                             |
| page.py      | docs/internals/gpu-benchmarks.md from a result file                         |
"""

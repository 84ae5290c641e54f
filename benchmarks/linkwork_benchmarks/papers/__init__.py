# SPDX-License-Identifier: BSD-3-Clause
"""The five papers, item by item: docs/internals/papers.md, by ``python -m linkwork_benchmarks papers``.

| file     | what it knows                                                                                |
|----------|----------------------------------------------------------------------------------------------|
| entry    | an item of a paper: where it is in the code, what is printed, what is found, what differs    |
| found    | result files of all studies, and how their numbers are written                               |
| loops, lqr, proximal, clusters, delassus | the items of each paper, in its order                         |
| page     | the page                                                                                     |

No number that is found here is written by hand: entries take them from result files. Numbers of the papers are typed.
"""

# SPDX-License-Identifier: BSD-3-Clause
"""The command line, ``linkwork COMMAND``: inspect models, simulate them, time them, export their dynamics as C.

| module           | task                                                              |
|------------------|-------------------------------------------------------------------|
| program          | the program, how commands are registered, exit codes, errors      |
| options          | every option, declared once; groups of options                    |
| inspect_commands | info, check, count, optimize, graph, warm, cache                  |
| run_commands     | simulate, view, bench, export, convert                            |
| completion       | what the tab key offers                                           |
| loading          | a model from a file, with the options of a command                |
| analysis         | the report on a mechanism: loops, mobility, warnings              |
| report           | its values, and as JSON                                           |
| validation       | the result of ``check``                                           |
| operation_counts | operation counts                                                  |
| tree_search      | the best spanning tree                                            |
| simulation       | simulations                                                       |
| benchmarks       | times of models, suites                                           |
| c_export         | C source                                                          |
| conversion       | models in other formats                                           |
| cache_report     | the disk cache                                                    |
| rendering        | reports and counts as printed                                     |
| result_tables    | benchmark results as printed, as CSV and as LaTeX                 |
| layout           | headings, lists, tables                                           |
| terminal         | color or plain text, pipes, progress notices                      |
"""

from linkwork.cli import inspect_commands, run_commands
from linkwork.cli.program import app, main

__all__ = ["app", "inspect_commands", "main", "run_commands"]

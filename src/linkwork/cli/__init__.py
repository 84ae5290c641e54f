"""The command line, ``linkwork COMMAND``: look at models, let them move, measure them, take their code elsewhere.

| room       | what it does                                                     |
|------------|------------------------------------------------------------------|
| program    | the program, exit codes, what becomes of errors                  |
| options    | options that commands share, help that teaches                   |
| commands   | info, check, count, graph, warm, cache: arguments and help       |
| actions    | simulate, view, bench, export: the same                          |
| completing | what the tab key offers                                          |
| looking    | from a file to facts                                             |
| finding    | what there is to say about a mechanism                           |
| facts      | the same as plain values, and as JSON                            |
| pages      | the same as tables for people                                    |
| verdicts   | what `check` makes of it                                         |
| counting   | operations                                                       |
| simulating | runs                                                             |
| benching   | times                                                            |
| exporting  | C source                                                         |
| caching    | the disk cache                                                   |
| terminal   | color or none, pipes, notices of what takes long                |
"""

from linkwork.cli import actions, commands
from linkwork.cli.program import app, main

__all__ = ["actions", "app", "commands", "main"]

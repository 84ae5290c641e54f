"""The command line: ``linkwork info FILE`` and ``linkwork check FILE...``.

| room     | what it does                                                     |
|----------|------------------------------------------------------------------|
| commands | arguments, options, help texts, exit codes                       |
| looking  | from a file to facts                                             |
| finding  | what there is to say about a mechanism                           |
| facts    | the same as plain values, and as JSON                            |
| pages    | the same as tables for people                                    |
| verdicts | what `check` makes of it                                         |
| terminal | colour or none, pipes, notices of what takes long                |
"""

from linkwork.cli.commands import app, main

__all__ = ["app", "main"]

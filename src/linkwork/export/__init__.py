# SPDX-License-Identifier: BSD-3-Clause
"""Programs for other places: the straight-line code of a function as C source.

| room     | what it does                                                              |
|----------|---------------------------------------------------------------------------|
| fixed    | a trace in which some inputs are known numbers                            |
| parts    | a trace cut into functions that compilers cope with, and memory between   |
| c_source | the text of these as C                                                    |
| comments | what the text says of itself: sizes, order of q and v, conventions        |
| writing  | `export_c`: from an evaluator to files                                    |
"""

from __future__ import annotations

from linkwork.export.writing import CProgram, export_c, exportable

__all__ = ["CProgram", "export_c", "exportable"]

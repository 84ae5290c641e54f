# SPDX-License-Identifier: BSD-3-Clause
"""Programs for other places: the straight-line code of a function as C source.

| room     | what it does                                                              |
|----------|---------------------------------------------------------------------------|
| fixed    | a trace in which some inputs are known numbers                            |
| parts    | a trace cut into functions that compilers cope with, and memory between   |
| c_source | the text of these as C                                                    |
| comments | what the text says of itself: sizes, order of q and v, conventions        |
| writing  | `export_c`: from an evaluator to files                                    |
| patterns | patterns of matrices, column by column                                    |
| casadi   | `export_casadi`: a function and its derivatives, as CasADi wants them;    |
|          | `casadi_functions` has their traces, `casadi_text` their text             |
"""

from __future__ import annotations

from linkwork.export.casadi import CasadiProgram, export_casadi
from linkwork.export.writing import CProgram, export_c

__all__ = ["CProgram", "CasadiProgram", "export_c", "export_casadi"]


def __dir__() -> list[str]:
    return sorted(__all__)

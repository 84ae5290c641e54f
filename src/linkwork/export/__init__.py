# SPDX-License-Identifier: BSD-3-Clause
"""Programs for other places: the straight-line code of a function as C source, and as WebAssembly.

| file     | task                                                                      |
|----------|---------------------------------------------------------------------------|
| c_source | a trace as C99                                                            |
| comments | what the text says of itself: sizes, order of q and v, conventions        |
| writing  | `export_c`: from an evaluator to files                                    |
| wasm     | `export_wasm`: a module of WebAssembly; `wasm_text` has the files around  |
| patterns | patterns of matrices, column by column                                    |
| casadi   | `export_casadi`: a function and its derivatives, as CasADi wants them;    |
|          | `casadi_functions` has their traces, `casadi_text` their text             |
"""

from __future__ import annotations

from linkwork.export.casadi import CasadiProgram, export_casadi
from linkwork.export.wasm import WasmProgram, export_wasm
from linkwork.export.writing import CProgram, export_c

__all__ = ["CProgram", "CasadiProgram", "WasmProgram", "export_c", "export_casadi", "export_wasm"]


def __dir__() -> list[str]:
    return sorted(__all__)

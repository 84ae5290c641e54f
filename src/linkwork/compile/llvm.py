"""LLVM IR to machine code in this process, and the addresses of symbols in it."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import llvmlite
import llvmlite.binding as llvm

_LOCK = threading.Lock()
_LOADED: list[Any] = []
"""Engines live as long as the process: compiled code may be called at any time."""


@cache
def _initialised() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def cpu() -> tuple[str, str]:
    """Name and features of this machine's processor."""
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def features() -> dict[str, bool]:
    """Which instruction sets this machine has."""
    return dict(llvm.get_host_cpu_features())


def version() -> str:
    """What object code depends on besides its source."""
    name, flags = cpu()
    return "|".join((llvmlite.__version__, llvm.get_default_triple(), name, flags))


def _machine() -> Any:
    _initialised()
    name, flags = cpu()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=name, features=flags, opt=2, reloc="pic", codemodel="small")


def object_code(ir: str, optimise: bool = False) -> bytes:
    """Machine code of a module, as an object file. Releases the GIL while LLVM works.

    Straight-line programs are best left as they are: ``optimise`` is for code with loops and calls. Vectorisers stay
    off in either case, they make code of small matrices slower.
    """
    machine = _machine()
    module = llvm.parse_assembly(ir)
    module.triple = llvm.get_default_triple()
    module.data_layout = str(machine.target_data)
    module.verify()
    if optimise:
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.slp_vectorization = options.loop_vectorization = options.loop_interleaving = False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def load(code: bytes, symbol: str) -> int:
    """Put object code into this process; the address of a symbol in it."""
    with _LOCK:
        _initialised()
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        _LOADED.append(engine)
        return int(engine.get_function_address(symbol))

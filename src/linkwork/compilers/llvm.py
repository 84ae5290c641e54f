# SPDX-License-Identifier: BSD-3-Clause
"""LLVM IR to object code, and object code into this process.

Code is loaded by LLVM's ORC with JITLink, which puts all sections of an object next to each other: relocations always
reach, wherever other libraries have taken memory. `Code` owns what it loaded and gives it back when it is gone.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import llvmlite
import llvmlite.binding as llvm

from linkwork.compilers.cache import fetch
from linkwork.errors import LinkworkError

LEVELS = {
    "x86-64": {"sse2"},
    "x86-64-v2": {"sse4.2", "ssse3", "popcnt", "cx16"},
    "x86-64-v3": {"avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe"},
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}
"""Features that each level of x86-64 adds to those before."""

_LOCK = threading.RLock()
_NUMBERS = count()


@cache
def _initialized() -> None:
    for option in ("-memdep-block-number-limit=20", "-memdep-block-scan-limit=40"):
        llvm.set_option("linkwork", option)  # a quarter of the time to compile, for nothing that could be measured
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def cpu() -> tuple[str, str]:
    """Name and features of the processor that code is made for: this machine's, or that of ``LINKWORK_CPU``.

    ``LINKWORK_CPU`` is a name that LLVM knows, such as ``x86-64-v3`` (code for every machine of a cluster), and
    further features behind commas: ``x86-64-v2,+avx``.
    """
    setting = os.environ.get("LINKWORK_CPU")
    if not setting:
        return llvm.get_host_cpu_name(), _host_features().flatten()
    name, _, features = setting.partition(",")
    missing = _instruction_sets(name.strip(), features) - {k for k, has in _host_features().items() if has}
    if missing:
        raise LinkworkError(
            f"LINKWORK_CPU is '{setting}', whose code needs {', '.join(sorted(missing))}, which this machine lacks; "
            f"it is '{llvm.get_host_cpu_name()}'"
        )
    return name.strip(), features


def _host_features() -> Any:
    """Features of this machine's processor; empty where LLVM cannot tell."""
    try:
        return llvm.get_host_cpu_features()
    except RuntimeError:
        return llvm.FeatureMap()


def version() -> str:
    """The key of everything that object code depends on besides its source."""
    return "|".join((llvmlite.__version__, llvm.get_default_triple(), *cpu()))


def machine(triple: str | None = None, name: str | None = None, features: str | None = None, reloc: str = "pic") -> Any:
    """LLVM's target machine: this one's, or another."""
    if triple is None:
        _initialized()
        triple = llvm.get_default_triple()
        name, features = cpu() if name is None else (name, features or "")
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(cpu=name or "", features=features or "", opt=2, reloc=reloc, codemodel="small")


def _registers(name: str, features: str) -> str:
    """The assembly that adds two vectors of eight doubles: its registers tell which instruction sets there are."""
    ir = """define <8 x double> @probe(<8 x double> %x, <8 x double> %y) {
  %z = fadd <8 x double> %x, %y
  ret <8 x double> %z
}"""
    target = machine(name=name, features=features)
    return str(target.emit_assembly(llvm.parse_assembly(ir)))


def _instruction_sets(name: str, features: str) -> set[str]:
    """The instruction sets for vectors that code for a processor may use, as far as they can be seen."""
    text = _registers(name, features)
    wanted = {"avx512f", "avx2", "fma"} if "zmm" in text else {"avx"} if "ymm" in text else set[str]()
    level = list(LEVELS).index(name) + 1 if name in LEVELS else 0
    return wanted.union(*list(LEVELS.values())[:level])


@cache
def vector_bytes() -> int:
    """The number of bytes in one vector register."""
    text = _registers(*cpu())
    return 64 if "zmm" in text else 32 if "ymm" in text else 16


def parsed(ir: str, target: Any, triple: str | None = None) -> Any:
    """A module that is known to be well formed."""
    module = llvm.parse_assembly(ir)
    module.triple = triple or llvm.get_default_triple()
    module.data_layout = str(target.target_data)
    module.verify()
    return module


def optimize(module: Any, target: Any, level: int) -> None:
    """LLVM's middle end. Vectorizers stay off: they make code of small matrices slower."""
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.slp_vectorization = options.loop_vectorization = options.loop_interleaving = False
    builder = llvm.create_pass_builder(target, options)
    builder.getModulePassManager().run(module, builder)


def object_code(ir: str, level: int = 0, target: Any = None, triple: str | None = None) -> bytes:
    """Machine code of a module, as an object file. Releases the GIL while LLVM works.

    Straight-line programs are best left as they are (level 0); code with loops and calls is optimized first.
    """
    target = machine() if target is None else target
    module = parsed(ir, target, triple)
    if level:
        optimize(module, target, level)
    return bytes(target.emit_object(module))


@cache
def _linker() -> Any:
    _initialized()
    return llvm.create_lljit_compiler(machine(), use_jit_link=True, suppress_errors=True)


_LOADED: WeakValueDictionary[str, Code] = WeakValueDictionary()


def loaded(name: str, symbol: str, make: Callable[[], bytes]) -> Code:
    """The code of a name: from this process, from the cache, or made now."""
    with _LOCK:
        result = _LOADED.get(name)
    if result is None:
        content = fetch(name, make)
        with _LOCK:
            result = _LOADED.get(name)
            if result is None:
                result = _LOADED[name] = Code(content, symbol)
    return result


class Code:
    """Object code in this process, for as long as this object lives.

    ``addresses``: where symbols are that the code does not define, beside those of the process. ``others``: further
    symbols of the code that are looked up (`symbol`).
    """

    def __init__(
        self, content: bytes, symbol: str, addresses: Mapping[str, int] | None = None, others: Sequence[str] = ()
    ) -> None:
        with _LOCK:
            builder = llvm.JITLibraryBuilder().add_object_img(content).export_symbol(symbol).add_current_process()
            for name in others:
                builder.export_symbol(name)
            for name, address in (addresses or {}).items():
                builder.import_symbol(name, address)
            self._library = builder.link(_linker(), f"linkwork{next(_NUMBERS)}")
        self.address: int = self._library[symbol]
        """Where the symbol is."""

    def symbol(self, name: str) -> int:
        """Where one of the others is."""
        address: int = self._library[name]
        return address

    def __del__(self, lock: Any = _LOCK, ending: Callable[[], bool] = sys.is_finalizing) -> None:
        """Give the memory back; at the end of the process, the system does."""
        library = self.__dict__.pop("_library", None)
        if library is None:
            return
        if ending():
            library.detach()
        else:
            with lock:
                library.close()

"""Kernel text through Numba: machine code that is generic in the mechanism, topology being data.

Numba turns the text into LLVM IR once per machine; from there it goes the way of all machine code here (`llvm`,
`cache`), so a process that finds it in the cache does not even import Numba. The entry hands kernel text a table of
addresses that looks like the named tuples of the plain way (`numba_tables`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from functools import cache
from typing import Any

import numpy as np

from linkwork.algorithms.algorithm import Algorithm, resolve
from linkwork.compile import llvm
from linkwork.compile.cache import announced, fetch, key
from linkwork.plans.tree import Tree

SYMBOL = "linkwork_native"


@cache
def address(algorithm: Algorithm) -> int:
    """The address of an algorithm's machine code, from the cache or compiled now."""
    name = key("native", algorithm.name, llvm.version())

    def make() -> bytes:
        with announced(f"{algorithm.name} (native)"):
            return llvm.object_code(inlined(_ir(algorithm)), optimise=True)

    return llvm.load(fetch(name, make), SYMBOL)


class Context:
    """The table of addresses that an entry unpacks: sizes and arrays of the tree, and work arrays of its own.

    Arrays of the tree that are named in ``own`` are copied, and may be changed.
    """

    def __init__(self, algorithm: Algorithm, tree: Tree, own: Collection[str] = ()) -> None:
        self._tree = {name: np.ascontiguousarray(getattr(tree, name)) for name in algorithm.layout.shapes}
        self.own = {name: self._tree[name].copy() for name in own}
        self._tree |= self.own
        sizes = [math.prod(resolve(shape, tree)) for shape in algorithm.work.values()]
        self._work = np.zeros(sum(sizes) + 1)
        starts = [sum(sizes[:k]) for k in range(len(sizes))]
        table = [getattr(tree, name) for name in algorithm.layout.sizes]
        table += [self._tree[name].ctypes.data for name in algorithm.layout.shapes]
        table += [self._work.ctypes.data + 8 * start for start in starts]
        self._table = np.array(table, dtype=np.int64)
        self.address = self._table.ctypes.data

    @property
    def bytes(self) -> int:
        """Memory of the work arrays."""
        return self._work.nbytes

    def take(self, other: Context) -> None:
        """Become what another context of the same shape is."""
        self._work[:] = other._work
        for name, array in self.own.items():
            array[:] = other.own[name]


def entry_source(algorithm: Algorithm) -> str:
    """The Python text of the entry, for Numba: one call of the algorithm per state."""
    arguments = []
    for k, shape in enumerate([*algorithm.inputs.values(), *algorithm.outputs.values()]):
        sizes = "".join(f"{size if isinstance(size, int) else f'tree.{size}'}, " for size in shape)
        arguments.append(f"floats(arrays[{k}] + 8 * strides[{k}] * s, ({sizes}))")
    lines = [
        "def entry(arrays_at, strides_at, count, context):",
        f"    arrays = ints(arrays_at, ({len(arguments)},))",
        f"    strides = ints(strides_at, ({len(arguments)},))",
        "    tree = open_tree(context)",
        "    work = open_work(context)",
        "    for s in range(count):",
        f"        text(tree, work, {', '.join(arguments)})",
    ]
    if algorithm.again is not None:
        lines += [
            f"        settings = {arguments[len(algorithm.inputs) - 1]}",
            f"        progress = {arguments[-1]}",
            "        while progress[0] > settings[0] and progress[1] < settings[1]:",
            f"            again(tree, work, {', '.join(arguments)})",
        ]
    return "\n".join(lines)


def inlined(ir: str) -> str:
    """The same IR with every function but the entry to be inlined: calls that pass arrays cost more than their work."""

    def mark(match: re.Match[str]) -> str:
        head, attributes = match.group(1), match.group(2) or ""
        return f"define internal {head} alwaysinline{attributes} {{"

    return re.sub(r"^define linkonce_odr (.*?)((?: #\d+)?) \{$", mark, ir, flags=re.M)


def _ir(algorithm: Algorithm) -> str:
    """LLVM IR of an algorithm's entry, free of Numba's run time."""
    import numba

    from linkwork.compile import numba_tables

    numba_tables.teach()
    layout = algorithm.layout
    fields: dict[str, numba_tables.Field] = {name: (k, (), False) for k, name in enumerate(layout.sizes)}
    for name, shape in layout.shapes.items():
        fields[name] = (len(fields), shape, name in layout.integers)
    work = {name: (len(fields) + k, shape, False) for k, (name, shape) in enumerate(algorithm.work.items())}
    sizes = {name: k for k, name in enumerate(layout.sizes)}
    scope: dict[str, Any] = {
        "ints": numba_tables.ints,
        "floats": numba_tables.floats,
        "open_tree": numba_tables.opener(layout.name, fields, sizes),
        "open_work": numba_tables.opener(f"work of {algorithm.name}", work, sizes),
        "text": algorithm.text,
        "again": algorithm.again,
    }
    exec(compile(entry_source(algorithm), f"<entry of {algorithm.name}>", "exec"), scope)
    signature = numba.void(numba.intp, numba.intp, numba.intp, numba.intp)
    jitted = numba.njit(
        signature,
        error_model="numpy",
        fastmath={"contract"},
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        _nrt=False,  # kernels own no memory
    )(scope["entry"])
    compiled = jitted.overloads[jitted.signatures[0]]
    ir: str = jitted.inspect_llvm(jitted.signatures[0])
    ir = ir.replace(compiled.fndesc.llvm_func_name, SYMBOL)
    left = set(re.findall(r"^declare [^@]*@\"?([\w.]+)", ir, re.M))
    foreign = sorted(name for name in left if not name.startswith("llvm.") and name not in ("sin", "cos", "sqrt"))
    if foreign:
        raise RuntimeError(
            f"native code of {algorithm.name} calls {foreign}: kernel text allocates or raises somewhere"
        )
    return ir

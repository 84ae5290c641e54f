# SPDX-License-Identifier: BSD-3-Clause
"""Code for other processors: AArch64, and older or newer x86-64 than the one that tests run on."""

from __future__ import annotations

import json
import os
import platform
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers import backends, llvm, native, warm
from linkwork.compilers.entry import entry_point as entry
from linkwork.compilers.lanes import Type
from linkwork.compilers.trace import emit
from linkwork.compilers.trace.tracing import trace
from linkwork.errors import LinkworkError
from tests.support.states import assert_close

ARM = "aarch64-unknown-linux-gnu"
AARCH64, X86_64 = 183, 62
"""Machines in the header of an ELF file."""

needs_x86 = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="no x86-64")


# AArch64 -------------------------------------------------------------------------------------------------------------


@cache
def arm() -> Any:
    llvmlite.binding.initialize_all_targets()
    llvmlite.binding.initialize_all_asmprinters()
    return llvm.machine(triple=ARM, name="generic")


def assert_arm(ir: str, level: int, *symbols: bytes) -> None:
    made = llvm.object_code(ir, level, arm(), ARM)
    assert made[:6] == b"\x7fELF\x02\x01"  # 64 bits, little-endian
    assert struct.unpack_from("<HH", made, 16) == (1, AARCH64)
    assert all(symbol in made for symbol in symbols)


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize("name", ["aba", "crba", "rnea", "lcaba", "prox_bbo"])
def test_native_code_can_be_made_for_aarch64(name: str, lanes: int) -> None:
    algorithm = warm.all_algorithms()[name]
    assert_arm(native.module(algorithm, Type("float64", lanes)), 1, b"linkwork_kernel")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_entry_point_can_be_made_for_aarch64(dtype: str) -> None:
    assert_arm(entry.module(dtype), 1, b"entry", b"PyLong_FromLong")


@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", ["aba", "lcaba"])
def test_straight_line_programs_can_be_made_for_aarch64(method: str, dtype: str, lanes: int) -> None:
    robot = lw.zoo.pendulum(3) if method == "aba" else lw.zoo.four_bar()
    program = lw.ForwardDynamics(robot, method).program
    assert_arm(emit.module(trace(program.algorithm, program.tree), dtype, lanes), 0, b"linkwork_kernel")


def test_code_for_another_machine_leaves_code_for_this_one_as_it_is() -> None:
    """Targets of LLVM are shared by the process."""
    arm()
    algorithm = warm.all_algorithms()["gravity"]
    made = llvm.object_code(native.module(algorithm, Type("float64", 1)), 1)
    if made[:4] == b"\x7fELF":
        wanted = {"x86_64": X86_64, "aarch64": AARCH64}.get(platform.machine())
        assert wanted is None or struct.unpack_from("<H", made, 18)[0] == wanted


# LINKWORK_CPU --------------------------------------------------------------------------------------------------------

SCRIPT = """
import json
import numpy as np
import linkwork as lw
from linkwork.compilers import llvm

found = {"cpu": llvm.cpu()[0], "bytes": llvm.vector_bytes(), "accelerations": []}
rng = np.random.default_rng(1)
tree, loop = lw.zoo.random_tree(2, bodies=4, kinds="r"), lw.zoo.four_bar()
trees, loops = lw.ForwardDynamics(tree, threads=1), lw.ForwardDynamics(loop, threads=1)
for robot, solver in ((tree, trees), (tree, trees.compile(threads=1)), (loop, loops.compile(threads=1))):
    q = np.stack([robot.random(k) for k in range(5)])
    q[1, 0] += 1e5
    v, tau = rng.normal(size=(2, 5, robot.nv))
    found["accelerations"].append(solver(q[0], v[0], tau[0]).acceleration.tolist())
    found["accelerations"].append(solver(q, v, tau).acceleration.tolist())
print(json.dumps(found))
"""


@cache
def on(cpu: str) -> dict[str, Any]:
    """What the script finds with code for a processor; empty: this machine's."""
    environment = {k: v for k, v in os.environ.items() if k != "LINKWORK_CPU"} | ({"LINKWORK_CPU": cpu} if cpu else {})
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(lw.__file__).parents[1]), environment.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def has(*features: str) -> bool:
    known = llvmlite.binding.get_host_cpu_features()
    return all(known.get(feature) for feature in features)


CPUS = {
    "x86-64": (16, ()),
    "x86-64-v2": (16, ("sse4.2",)),
    "x86-64-v2,+avx": (32, ("avx",)),
    "x86-64-v3": (32, ("avx2", "fma")),
    "x86-64-v4": (64, ("avx512f", "avx512vl")),
}
"""Bytes of a vector register, and what a machine needs to run the code."""


@needs_x86
@pytest.mark.parametrize("cpu", CPUS)
def test_code_for_any_x86_64_gives_the_same_accelerations(cpu: str) -> None:
    """Whether or not multiplications and additions fuse; angles beyond 1e4 and iterations included."""
    size, features = CPUS[cpu]
    if not has(*features):
        pytest.skip(f"this machine has not {features}")
    found, expected = on(cpu), on("")
    assert found["bytes"] == size
    assert found["cpu"] == cpu.split(",")[0]
    for ours, theirs in zip(found["accelerations"], expected["accelerations"], strict=True):
        assert_close(np.array(ours), np.array(theirs), 1e-12)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Nothing is remembered of the processor, before and after."""
    llvm._initialized()
    for function in (llvm.cpu, llvm.vector_bytes):
        function.cache_clear()
    yield monkeypatch
    for function in (llvm.cpu, llvm.vector_bytes):
        function.cache_clear()


def without(monkeypatch: pytest.MonkeyPatch, *features: str) -> None:
    """A machine that has not these."""
    known = llvmlite.binding.FeatureMap(llvmlite.binding.get_host_cpu_features())
    known.update(dict.fromkeys(features, False))
    monkeypatch.setattr(llvm.llvm, "get_host_cpu_features", lambda: known)


@needs_x86
@pytest.mark.parametrize(
    ("cpu", "missing"),
    [
        ("x86-64-v2", "sse4.2"),
        ("x86-64-v3", "avx2"),
        ("x86-64-v3", "fma"),
        ("x86-64-v4", "avx512f"),
        ("x86-64-v4", "avx512vl"),
        ("x86-64-v4", "avx2"),
        ("x86-64,+avx", "avx"),
        ("skylake", "avx"),
        ("skylake-avx512", "avx512f"),
    ],
)
def test_a_processor_that_the_machine_is_not_is_refused_in_words(
    fresh: pytest.MonkeyPatch, cpu: str, missing: str
) -> None:
    fresh.setenv("LINKWORK_CPU", cpu)
    without(fresh, missing)
    with pytest.raises(LinkworkError, match=f"LINKWORK_CPU is '{cpu.replace('+', '.')}', .*{missing}.* lacks"):
        llvm.cpu()


@needs_x86
def test_a_processor_of_another_family_is_refused(fresh: pytest.MonkeyPatch) -> None:
    """As x86-64-v3 on a machine with other instructions: none of its features is there."""
    fresh.setenv("LINKWORK_CPU", "x86-64-v3")
    fresh.setattr(llvm.llvm, "get_host_cpu_features", lambda: llvmlite.binding.FeatureMap(neon=True))
    with pytest.raises(LinkworkError, match="sse2"):
        llvm.cpu()


@needs_x86
def test_an_older_processor_is_taken(fresh: pytest.MonkeyPatch) -> None:
    fresh.setenv("LINKWORK_CPU", "x86-64")
    without(fresh, "avx", "avx2", "fma", "avx512f", "sse4.2")
    assert llvm.cpu() == ("x86-64", "")
    assert llvm.vector_bytes() == 16
    assert backends.best_lanes("float64") == 2
    assert backends.best_lanes("float32") == 4


def test_a_machine_whose_features_llvm_cannot_tell_is_taken(fresh: pytest.MonkeyPatch) -> None:
    def unknown() -> Any:
        raise RuntimeError("failed to get host cpu features")

    fresh.delenv("LINKWORK_CPU", raising=False)
    fresh.setattr(llvm.llvm, "get_host_cpu_features", unknown)
    assert llvm.cpu() == (llvmlite.binding.get_host_cpu_name(), "")


@needs_x86
def test_code_for_another_processor_has_another_name_in_the_cache(fresh: pytest.MonkeyPatch) -> None:
    names = set()
    for cpu in ("x86-64", "x86-64-v2", ""):
        fresh.setenv("LINKWORK_CPU", cpu)
        llvm.cpu.cache_clear()
        names.add(native.cache_name.__wrapped__(warm.all_algorithms()["aba"], "float64", 1))
    assert len(names) == 3


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("lanes", [2, 8, 32])
def test_arrays_in_lanes_begin_where_their_vectors_may(lanes: int, dtype: str) -> None:
    """Also where a vector is longer than a register."""
    program = lw.ForwardDynamics(lw.zoo.pendulum(3)).program
    t = Type(dtype, lanes)
    context = native.Context(program.algorithm, program.tree, t)
    words = len(program.algorithm.layout.sizes) + len(program.algorithm.layout.shapes)
    addresses = context._table[words:]
    assert len(addresses) > 5
    assert not (addresses % (t.bytes * lanes)).any()

# SPDX-License-Identifier: BSD-3-Clause
"""Exported C on processors without an operating system: ``python scripts/bare_metal.py [MODELS]``.

Compiles programs of `export_c` for a Cortex-M7 and for 64-bit RISC-V, with no heap and no library but libm, runs them
in QEMU's emulation of whole machines, and prints the table of docs/how-to/export.md: code and stack, instructions of a
call as the emulator counts them, libm's included, cycles that these take by tables (`cycles`), and how far results are
from those of the same C on this machine, in units in the last place of the largest number.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from cycles import CORES, Instruction, cycles

import linkwork as lw
from linkwork import zoo
from linkwork.export import CProgram, export_c

STARTUP = {
    "cortex-m7": """
extern unsigned _top;
void reset(void);
__attribute__((section(".vectors"), used)) void *const vectors[] = {&_top, (void *)reset};
static void write0(const char *text) {
    register int kind __asm__("r0") = 4; register const char *at __asm__("r1") = text;
    __asm__ volatile("bkpt 0xab" : "+r"(kind) : "r"(at) : "memory");
}
static void leave(void) {
    register int kind __asm__("r0") = 0x18; register int why __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" : : "r"(kind), "r"(why) : "memory");
}
#define SYSTICK ((volatile unsigned *)0xE000E010)
static unsigned now(void) { return 0xFFFFFFu - SYSTICK[2]; }
int main(void);
void reset(void) {
    *(volatile unsigned *)0xE000ED88 |= 0xFu << 20; /* the floating-point unit */
    __asm__ volatile("dsb\\nisb");
    SYSTICK[1] = 0xFFFFFF; SYSTICK[2] = 0; SYSTICK[0] = 5;
    main();
    leave();
    for (;;) {}
}
""",
    "riscv64": """
__asm__(".section .vectors\\n.globl _start\\n_start:\\nla sp, _top\\nli t0, 0x6000\\ncsrs mstatus, t0\\n"
        "call main\\ncall leave\\n.text");
static long semihost(long kind, const void *argument) {
    register long a0 __asm__("a0") = kind; register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".balign 16\\n.option push\\n.option norvc\\nslli x0, x0, 0x1f\\nebreak\\nsrai x0, x0, 7\\n"
                     ".option pop" : "+r"(a0) : "r"(a1) : "memory");
    return a0;
}
static void write0(const char *text) { semihost(4, text); }
void leave(void) { long why[2] = {0x20026, 0}; semihost(0x18, why); for (;;) {} }
static unsigned long now(void) { unsigned long n; __asm__ volatile("csrr %0, minstret" : "=r"(n)); return n; }
""",
}
MAIN = """
static void hex(unsigned long long x) {
    char text[18];
    for (int k = 0; k < 16; ++k) text[k] = "0123456789abcdef"[(x >> (60 - 4 * k)) & 15];
    text[16] = '\\n'; text[17] = 0;
    write0(text);
}
int *__errno(void) { static int e; return &e; }
int main(void) {
    @call@;
    volatile unsigned long begin = now();
    @call@;
    unsigned long end = now();
    hex(end - begin);
    @print@
    return 0;
}
"""
LINK = """
ENTRY(@entry@)
MEMORY { code (rx) : ORIGIN = @code@, LENGTH = 4M  data (rw) : ORIGIN = @data@, LENGTH = 4M }
SECTIONS {
  .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) *(.srodata*) *(.eh_frame*) *(.ARM*) } > code
  .data : { *(.data*) *(.sdata*) } > data AT > data
  .bss : { *(.bss*) *(.sbss*) *(COMMON) } > data
  _top = ORIGIN(data) + LENGTH(data);
}
"""


@dataclass(frozen=True)
class Target:
    """A processor: its compiler, its emulator, and how the latter's clock counts instructions."""

    name: str
    compiler: tuple[str, ...]
    link: dict[str, str]
    emulator: tuple[str, ...]
    ticks: float
    """Of the clock that is read, for an instruction."""

    @property
    def available(self) -> bool:
        """Whether compiler and emulator are installed."""
        return all(shutil.which(tool) for tool in (self.compiler[0], self.emulator[0]))


SHIFT = 6
"""An instruction takes ``2**SHIFT`` nanoseconds of emulated time."""
TARGETS = (
    Target(
        "cortex-m7",
        ("arm-none-eabi-gcc", "-mcpu=cortex-m7", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv5-d16"),
        {"entry": "reset", "code": "0x00000000", "data": "0x20000000"},
        ("qemu-system-arm", "-M", "mps2-an500", "-kernel"),
        25e-3 * 2**SHIFT,
    ),
    Target(
        "riscv64",
        ("riscv64-unknown-elf-gcc", "-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany", "--specs=picolibc.specs"),
        {"entry": "_start", "code": "0x80000000", "data": "0x80400000"},
        ("qemu-system-riscv64", "-M", "virt", "-bios", "none", "-kernel"),
        float(2**SHIFT),
    ),
)


@dataclass(frozen=True, eq=False)
class Run:
    """What a program did on a target."""

    outputs: list[Any]
    instructions: float
    code: int
    """Bytes of the function and its parts."""
    stack: int
    """Bytes of the stack, those of libm aside."""
    executed: list[Instruction]
    """The instructions of a call, in order."""


def filled(text: str, words: dict[str, str]) -> str:
    """A text with its marks replaced."""
    return re.sub("@([a-z]+)@", lambda mark: words[mark[1]], text)


def run_on(target: Target, program: CProgram, inputs: Sequence[Any], folder: Path) -> Run:
    """Compile a program for a target and run it in the emulator.

    Args:
        target: The processor.
        program: What was exported.
        inputs: Its inputs.
        folder: For files.
    """
    number = "double" if program.dtype == "float64" else "float"
    bits = "unsigned long long" if number == "double" else "unsigned"
    arrays = []
    for name, values in zip(program.inputs, inputs, strict=True):
        exact = ", ".join(float(x).hex() for x in np.asarray(values, program.dtype).ravel())
        arrays.append(f"static {number} {name}[] = {{{exact}}};")
    arrays += [f"static {number} {name}[{size}];" for name, size in program.outputs.items()]
    prints = [
        f"for (int k = 0; k < {size}; ++k) {{ union {{ {number} x; {bits} n; }} u; u.x = {name}[k]; hex(u.n); }}"
        for name, size in program.outputs.items()
    ]
    call = f"{program.name}({', '.join([*program.inputs, *program.outputs])})"
    main = folder / "main.c"
    parts = [f'#include "{program.header.resolve()}"', STARTUP[target.name], *arrays]
    main.write_text("\n".join([*parts, filled(MAIN, {"call": call, "print": " ".join(prints)})]))
    (folder / "link.ld").write_text(filled(LINK, target.link))
    strict = ["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-O2"]
    _done([*target.compiler, *strict, "-fstack-usage", "-c", str(program.source), "-o", str(folder / "program.o")])
    image = folder / "image.elf"
    link = ["-nostartfiles", "-nostdlib", "-T", str(folder / "link.ld"), str(main), str(folder / "program.o"), "-lm"]
    _done([*target.compiler, *strict, *link, "-lgcc", "-lc", "-lm", "-lgcc", "-o", str(image)])
    clock = ["-icount", f"shift={SHIFT}", "-nographic", "-semihosting"]
    printed = _done([target.emulator[0], *clock, *target.emulator[1:], str(image)], timeout=120)
    lines = re.findall("[0-9a-f]{16}", printed)
    numbers = np.array([int(line, 16) for line in lines[1:]], dtype=np.uint64)
    values = numbers.view(np.float64) if number == "double" else numbers.astype(np.uint32).view(np.float32)
    sizes = np.cumsum(list(program.outputs.values()))[:-1]
    size = _done([target.compiler[0].replace("gcc", "size"), str(folder / "program.o")])
    code = int(size.splitlines()[1].split()[0])
    stacks = [line.split("\t")[:2] for line in (folder / "program.su").read_text().splitlines()]
    of = {place.rsplit(":", 1)[1]: int(used) for place, used in stacks}
    stack = of.pop(program.name) + max(of.values())
    return Run(
        list(np.split(values, sizes)),
        int(lines[0], 16) / target.ticks,
        code,
        stack,
        executed(target, image, program.name),
    )


def executed(target: Target, image: Path, function: str) -> list[Instruction]:
    """The instructions of the second call of a function by ``main``, in order, as the emulator logs them.

    Args:
        target: The processor.
        image: The linked program.
        function: Its name.
    """
    text = _done([target.compiler[0].replace("gcc", "objdump"), "-d", "--no-show-raw-insn", str(image)])
    code, where, named = dict[int, Instruction](), dict[int, str](), ""
    for line in text.splitlines():
        if found := re.match(r"[0-9a-f]+ <([^>]+)>:", line):
            named = found[1]
        elif found := re.match(r"\s*([0-9a-f]+):\s+(\S+)\s*([^@#<]*)", line):
            at = int(found[1], 16)
            code[at], where[at] = Instruction(found[2], found[3].strip()), named
    log = image.with_suffix(".log")
    how = ["-singlestep", "-d", "exec,nochain", "-D", str(log), "-nographic", "-semihosting"]
    _done([target.emulator[0], *how, *target.emulator[1:], str(image)], timeout=120)
    places = [int(at, 16) for at in re.findall(r"\[[0-9a-f]+/([0-9a-f]+)/", log.read_text())]
    begin = min(at for at, name in where.items() if name == function)
    second = [k for k, at in enumerate(places) if at == begin][1]
    end = next(k for k in range(second, len(places)) if where.get(places[k]) == "main")
    return [code[at] for at in places[second:end]]


def run_here(program: CProgram, inputs: Sequence[Any], folder: Path) -> list[Any]:
    """The same C on this machine.

    Args:
        program: What was exported.
        inputs: Its inputs.
        folder: For files.
    """
    library = folder / f"{program.name}.so"
    strict = ["-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC"]
    _done(["cc", *strict, str(program.source), "-o", str(library), "-lm"])
    given = [np.ascontiguousarray(x, dtype=program.dtype).ravel() for x in inputs]
    found = [np.zeros(size, dtype=program.dtype) for size in program.outputs.values()]
    function = getattr(ctypes.CDLL(str(library)), program.name)
    function(*(ctypes.c_void_p(x.ctypes.data) for x in (*given, *found)))
    return found


def ulps(found: Sequence[Any], wanted: Sequence[Any]) -> float:
    """The largest difference, in units in the last place of the largest number."""
    x, y = np.concatenate(found), np.concatenate(wanted)
    return float(np.abs(x - y).max() / np.spacing(np.abs(y).max()))


def _done(command: Sequence[str], timeout: float | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
    return done.stdout + done.stderr


def cases(models: Path) -> dict[str, tuple[Any, list[Any]]]:
    """Evaluators by name, and what they are given."""
    rng = np.random.default_rng(0)
    found: dict[str, tuple[Any, list[Any]]] = {}
    robot = zoo.five_bar()
    q = robot.poses["assembled"]
    found["five-bar, closure"] = lw.Minimal(robot), [q + 0.01]
    if (models / "cassie/cassie_nomesh.xml").is_file():
        cassie = lw.load(models / "cassie/cassie_nomesh.xml", contacts=False)
        q = cassie.assemble(cassie.poses["home"])
        found["Cassie, inverse dynamics"] = lw.InverseDynamics(cassie), [q, *rng.normal(size=(2, cassie.nv))]
    ankle = models / "booster_t1/T1_23dof_parallel_nomesh.xml"
    if ankle.is_file():
        robot = lw.load(ankle, contacts=False)
        q = robot.assemble(robot.neutral())
        found["Booster T1, closure of both ankles"] = lw.Minimal(robot), [q]
        (cluster, *_) = [cluster for cluster in lw.loops.clusters(robot) if cluster.dependent]
        single = robot.reduced([joint.name for joint in robot.joints if joint.name not in cluster.joints], q=q)
        minimal = lw.Minimal(single)
        step = np.zeros(single.nv)
        step[minimal.index] = 0.05
        found["its left ankle alone"] = minimal, [single.integrate(single.assemble(single.neutral()), step)]
    return found


def main(models: Path) -> None:
    """Print the table."""
    print("| program | numbers | operations | processor | code, kB | stack, B | instructions | cycles | ulp |")
    print("|---|---|---:|---|---:|---:|---:|---:|---:|")
    for name, (evaluator, inputs) in cases(models).items():
        for dtype in ("float64", "float32"):
            with tempfile.TemporaryDirectory() as folder:
                program = export_c(evaluator, Path(folder) / "f.c", dtype=dtype)  # type: ignore[arg-type]
                here = run_here(program, inputs, Path(folder))
                for target in TARGETS:
                    run = run_on(target, program, inputs, Path(folder))
                    count = program.operations
                    words = f"{count.total}" + (f" + {count.iteration} a step" if count.iteration else "")
                    numbers = f"{run.code / 1000:.1f} | {run.stack} | {run.instructions:.0f}"
                    core = CORES[target.name]
                    bounds = sorted({cycles(core, run.executed, pipelined) for pipelined in (True, False)})
                    numbers += f" | {' to '.join(map(str, bounds))}"
                    results = [k for k, array in enumerate(program.outputs) if array not in ("step", "completion")]
                    apart = ulps([run.outputs[k] for k in results], [here[k] for k in results])
                    print(f"| {name} | {dtype} | {words} | {target.name} | {numbers} | {apart:.1f} |")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

# SPDX-License-Identifier: BSD-3-Clause
"""Steps in WebAssembly beside native ones: ``python -m linkwork_benchmarks.wasm [FOLDER ...] [--anew] [--bits]``.

Of all zoo mechanisms, and of the model files below folders if some are given: bytes of the module of a step without
contacts, CPU seconds to make it, microseconds of a step in Node and in Chromium (best of forty times 5 ms), and
how far the state is from that of native code after one step and after 1000, relative to its largest number. Beside
that, how far specialized native code is from generic code, which rounds in another order. With ``--bits`` the systems
of the result file are compared bit by bit with native code for processors without fused multiply-adds, all inputs
given. Results are written to ``results/wasm.json``, and the page ``docs/internals/wasm-benchmarks.md`` is made of them;
systems that the file has are measured again with ``--anew`` alone.
"""

from __future__ import annotations

import argparse
import base64
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import zoo
from linkwork.compilers.wasm.module import WasmFunction, wasm_module
from linkwork.errors import AssemblyError, LinkworkError, NotFinite, ProgramTooLarge
from linkwork.export import export_wasm
from linkwork.export.writing import held_values
from linkwork.viewer.posing import start_of
from linkwork_benchmarks import report
from linkwork_benchmarks.reflow import reflowed

RUN = """
async ({ wasm, layout, state }) => {
  const bytes = Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0));
  const { memory, step } = new WebAssembly.Instance(await WebAssembly.compile(bytes)).exports;
  const view = ([at, n]) => new Float64Array(memory.buffer, 8 * at, n);
  for (const [name, x] of Object.entries(state)) view(layout.inputs[name]).set(x);
  const steps = (n) => {
    view(layout.inputs.settings)[1] = n + 1;
    step();
    return [...view(layout.outputs.q1), ...view(layout.outputs.v1)];
  };
  const found = [steps(1), steps(1000)].map((x) => x.map(String));
  const begin = performance.now();
  let blocks = 0;
  for (; performance.now() - begin < 150; blocks++) steps(200); // until it is optimized
  const count = Math.ceil(blocks / 30); // of five milliseconds: clocks of browsers show tenths of one
  let best = Infinity;
  for (let k = 0; k < 40; k++) {
    const start = performance.now();
    for (let j = 0; j < count; j++) steps(200);
    best = Math.min(best, (5 * (performance.now() - start)) / count);
  }
  return [found, best];
}"""
NODE = f"""
let text = "";
for await (const chunk of process.stdin) text += chunk;
console.log(JSON.stringify(await ({RUN})(JSON.parse(text))));"""
BITS = """
let text = "";
for await (const chunk of process.stdin) text += chunk;
const { wasm, layout, state } = JSON.parse(text);
const bytes = Uint8Array.from(atob(wasm), (c) => c.charCodeAt(0));
const { memory, step } = new WebAssembly.Instance(await WebAssembly.compile(bytes)).exports;
const view = ([at, n]) => new Float64Array(memory.buffer, 8 * at, n);
for (const [name, x] of Object.entries(state)) view(layout.inputs[name]).set(x);
step();
console.log(JSON.stringify([...view(layout.outputs.q1), ...view(layout.outputs.v1)].map(String)));"""
RESULTS = report.RESULTS.with_name("wasm.json")
PAGE = report.REPOSITORY / "docs" / "internals" / "wasm-benchmarks.md"
STEPS = (1e-3, 1e-4, 1e-5)
OPTIONS: dict[str, dict[str, Any]] = {
    "": {},
    "no stops": {"limits": False},
    "loops open": {"time_constant": None},
}
"""Further options of steppers, by words for the table: of robots whose stops or loops contradict their start."""
MOST = 1_000_000
"""Operations of a program, at most."""
WITHOUT_FMA = "x86-64"
CLOSED = 1e-6
"""Errors of loops, in meters and radians, above which a start is assembled."""
HEAD = "| system | velocities, rows | operations | kB | made, s | Node, µs | Chromium, µs | 1 step | 1000 | native |"


def mechanisms() -> Iterator[tuple[str, lw.Mechanism]]:
    """All mechanisms that the zoo makes without being told anything, by name."""
    for name in zoo.__all__:
        function = getattr(zoo, name)
        if inspect.isfunction(function):
            needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
            made = None if needed else function()
            if isinstance(made, lw.Mechanism) and made.nv:
                yield name, made


def files(models: Path) -> Iterator[tuple[str, lw.Mechanism]]:
    """All model files below a folder that load."""
    for file in sorted(models.rglob("*")):
        if file.suffix in (".urdf", ".xml", ".sdf"):
            try:
                robot = lw.load(file, contacts=False)
            except LinkworkError as error:
                print(f"{file.relative_to(models)} does not load: {str(error)[:100]}", file=sys.stderr)
                continue
            if robot.nv:
                yield str(file.relative_to(models)), robot


def state(robot: lw.Mechanism) -> tuple[Any, Any, Any]:
    """Configuration with closed loops, velocities near 0.1, and torques that would accelerate free joints by 0.1."""
    q = start_of(robot)[0]
    if robot.nc and np.abs(lw.constraint_error(robot, q)).max() > CLOSED:
        try:
            q = robot.assemble(q, attempts=100, limits=False)
        except AssemblyError as error:
            print(f"'{robot.name}': {error}", file=sys.stderr)
    rng = np.random.default_rng(0)
    v, a = 0.1 * rng.normal(size=(2, robot.nv))
    return q, robot.project_velocity(q, v) if robot.nc else v, lw.mass_matrix(robot, q) @ a


def steady_stepper(robot: lw.Mechanism, q: Any, v: Any, tau: Any) -> tuple[str, lw.Stepper]:
    """The stepper with the first of `OPTIONS` and the longest of `STEPS` with which 1000 steps stay finite."""
    for words, options in OPTIONS.items():
        for dt in STEPS:
            stepper = lw.Stepper(robot, dt, contact=False, **options)
            try:
                stepper(q, v, tau, steps=1000)
            except NotFinite:
                continue
            return words, stepper
    raise NotFinite(f"1000 steps of '{robot.name}' do not stay finite")


def measured(name: str, robot: lw.Mechanism, browser: Any) -> dict[str, Any]:
    """Sizes, times and differences of a step of a robot."""
    q, v, tau = state(robot)
    words, stepper = steady_stepper(robot, q, v, tau)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        program = export_wasm(stepper, folder, name="step", arguments=["settings"], max_operations=MOST)
        made = time.process_time() - begin
        given = {
            "wasm": base64.b64encode(program.module.read_bytes()).decode(),
            "layout": {"inputs": program.inputs, "outputs": program.outputs["step"]},
            "state": {"q": q.tolist(), "v": v.tolist(), "tau": tau.tolist()},
        }
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", NODE], input=json.dumps(given), capture_output=True, text=True
    )
    found, node = json.loads(done.stdout)
    chromium = browser.evaluate(f"given => ({RUN})(given)", given)[1] if browser else None
    errors = list[float]()
    for k, steps in enumerate((1, 1000)):
        generic = _numbers(stepper(q, v, tau, steps=steps))
        errors.append(_apart(np.array(found[k], dtype=float), generic))
    try:
        native = _apart(_numbers(stepper.compile()(q, v, tau, steps=1000)), generic)
    except ProgramTooLarge:
        native = None
    return {
        "name": name,
        "options": words,
        "dt": stepper.dt,
        "nv": robot.nv,
        "nc": robot.nc,
        "operations": program.operations["step"].iteration,
        "bytes": program.size,
        "made": made,
        "node": node,
        "chromium": chromium,
        "one": errors[0],
        "thousand": errors[1],
        "native": native,
    }


def _numbers(after: Any) -> Any:
    return np.concatenate([after.q, after.v])


def _apart(x: Any, y: Any) -> float:
    """The largest difference relative to the largest number."""
    return float(np.abs(x - y).max() / np.abs(y).max())


def same_bits(robot: lw.Mechanism, dt: float, words: str) -> bool:
    """Whether a state has the bits of native code after 1000 steps, all inputs of the program given."""
    q, v, tau = state(robot)
    stepper = lw.Stepper(robot, dt, contact=False, **OPTIONS[words])
    trace = stepper.exported_program.trace()
    module = wasm_module([WasmFunction("step", trace, tuple(dict(trace.inputs)))], held_values(stepper, ()))
    given = {
        "wasm": base64.b64encode(module.binary).decode(),
        "layout": {"inputs": module.inputs, "outputs": module.outputs["step"]},
        "state": {"q": q.tolist(), "v": v.tolist(), "tau": tau.tolist(), "settings": [0.0, 1001.0]},
    }
    command = ["node", "--input-type=module", "--eval", BITS]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    after = stepper.compile()(q, v, tau, steps=1000)
    return bool(np.array_equal(np.array(json.loads(done.stdout), dtype=float), _numbers(after)))


def compare_bits(folders: Sequence[Path], anew: bool) -> None:
    """Add to the result file which of its systems have the bits of native code, and write the page."""
    if os.environ.get("LINKWORK_CPU") != WITHOUT_FMA:
        raise SystemExit(f"set LINKWORK_CPU={WITHOUT_FMA}: WebAssembly has no fused multiply-adds")
    warnings.simplefilter("ignore")
    results = report.read(RESULTS)
    rows = {x["name"]: x for x in results["rows"]}
    for name, robot in systems(folders):
        x = rows.get(name)
        if x is not None and x["native"] is not None and (anew or "bits" not in x):
            x["bits"] = same_bits(robot, x["dt"], x["options"])
            print(name, x["bits"], flush=True)
    write(results)


def row(x: Mapping[str, Any]) -> str:
    """A row of the table."""
    chromium = "" if x["chromium"] is None else f"{x['chromium']:.2f}"
    how = [f"{1e3 * x['dt']:g} ms"] * (x["dt"] != STEPS[0]) + [x["options"]] * bool(x["options"])
    name = f"{x['name']} ({', '.join(how)})" if how else x["name"]
    native = "" if x["native"] is None else f"{x['native']:.0e}"
    head = f"| {name} | {x['nv']}, {x['nc']} | {x['operations']} | {x['bytes'] / 1000:.1f} | {x['made']:.2f}"
    return f"{head} | {x['node']:.2f} | {chromium} | {x['one']:.0e} | {x['thousand']:.0e} | {native} |"


def page(results: Mapping[str, Any]) -> str:
    """The page of the site.

    Args:
        results: What the result file holds.
    """
    rows = results["rows"]
    machine, total = results["machine"], len(rows)
    exact = sum(x["one"] < 1e-12 for x in rows)
    compared = [x["bits"] for x in rows if "bits" in x]
    commits = list(dict.fromkeys(x["commit"] for x in rows))
    made = f"{results['date'][:10]}, {'commits' if len(commits) > 1 else 'commit'} {' and '.join(commits)}"
    lines = [
        "# WebAssembly, measured",
        "",
        f"Steps of 1 ms without contacts in Node and Chromium beside native code, of {total} mechanisms: all of the",
        f"zoo that needs no argument, and model files. Machine: {machine['cpu']}, {machine['cores']} cores, shared",
        f"with other work; {made}. Made by `python -m linkwork_benchmarks.wasm FOLDERS`.",
        "",
        "Columns: degrees of freedom and rows of constraints; operations of a step; bytes of the module; CPU time to",
        "make it; microseconds of a step, best of forty times 5 ms; difference to native code after 1 step and after",
        "1000, relative to the largest number of the state. The last column is the difference of the two kinds of",
        "native code, generic and specialized, after 1000 steps: they round in different orders, too. Where 1 ms does",
        "not stay finite, as of linkages that fall through singular configurations, a shorter step is named; where no",
        "step does, stops of joints that the loops contradict are left out, or loops that do not close stay open.",
        "",
        f"All differences are rounding: {sum(compared)} of {len(compared)} states have, after 1000 steps, the bits of "
        "native code for processors without fused multiply-adds (`LINKWORK_CPU=x86-64`), when all inputs of the "
        "program are given (`python -m linkwork_benchmarks.wasm --bits FOLDERS`). The table is that of exported "
        "modules, whose zeros among the inputs are constants and vanish, beside native code with fused multiply-adds.",
        "",
        f"After one step {exact} of {total} agree to 1e-12. Others have constraint forces of one proximal iteration, "
        "whose penalty is 1e8 times the diagonal of the inverse inertia of rows: it amplifies rounding. "
        "With a regularization of 1e-6 in place of 1e-8 the difference of `belt_chain` after a step is 100 times less, "
        "with 1e-4 10 000 times; `tests/export/test_export_wasm.py` compares both kinds of code with extended "
        "precision. Systems that swing wildly then multiply it from step to step.",
        "",
        HEAD,
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        *map(row, rows),
    ]
    if results["skipped"]:
        lines += ["", "Not measured:", "", *(f"- {name}: {why}" for name, why in results["skipped"].items())]
    return reflowed("\n".join([*lines, ""]))


def systems(folders: Sequence[Path]) -> Iterator[tuple[str, lw.Mechanism]]:
    """Mechanisms of the zoo, then models of files."""
    yield from mechanisms()
    for folder in folders:
        yield from files(folder)


def main(folders: Sequence[Path], anew: bool) -> None:
    """Measure, write the result file and the page."""
    from playwright.sync_api import sync_playwright

    warnings.simplefilter("ignore")
    executable, circumstances = shutil.which("chromium"), report.circumstances()
    known = {} if anew or not RESULTS.is_file() else {x["name"]: x for x in report.read(RESULTS)["rows"]}
    rows, skipped = list[dict[str, Any]](), dict[str, str]()
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"]) if executable else None
        tab = started.new_page() if started else None
        print(HEAD)
        for name, robot in systems(folders):
            if name in known:
                rows.append(known[name])
                continue
            try:
                rows.append({**measured(name, robot, tab), "commit": circumstances["commit"][:8]})
                print(row(rows[-1]), flush=True)
            except LinkworkError as error:
                skipped[name] = re.split(r"; |\. ", str(error))[0]
                print(f"{name}: {skipped[name]}", file=sys.stderr, flush=True)
        if started:
            started.close()
    write({**circumstances, "rows": rows, "skipped": skipped})


def write(results: dict[str, Any]) -> None:
    """Write the result file and the page."""
    report.save(results, RESULTS)
    PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m linkwork_benchmarks.wasm", description="Steps in WebAssembly.")
    parser.add_argument("folders", nargs="*", type=Path, help="folders of model files")
    parser.add_argument("--anew", action="store_true", help="measure systems again that the result file has")
    parser.add_argument("--bits", action="store_true", help="compare bits of the systems of the result file")
    options = parser.parse_args()
    (compare_bits if options.bits else main)(options.folders, options.anew)

# SPDX-License-Identifier: BSD-3-Clause
"""Steps in WebAssembly beside native ones, the table of docs/export.md: ``python scripts/wasm_times.py [MODELS]``.

Of zoo mechanisms, and of the model files below a folder if one is given: bytes of the module of a step, CPU seconds to
make it, microseconds of a step in Node and in Chromium (best of five times 1000 steps), and how far the state is from
that of native code after one step and after 1000, relative to its largest number. Beside that, how far native states
are apart whose velocities differ by one rounding at the start.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork import zoo
from linkwork.errors import LinkworkError
from linkwork.export import export_wasm
from linkwork.viewer.posing import start_of

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
  while (performance.now() - begin < 400) steps(500); // until it is optimized
  let best = Infinity;
  for (let k = 0; k < 5; k++) {
    const start = performance.now();
    steps(1000);
    best = Math.min(best, performance.now() - start);
  }
  return [found, best];
}"""
NODE = f"""
let text = "";
for await (const chunk of process.stdin) text += chunk;
console.log(JSON.stringify(await ({RUN})(JSON.parse(text))));"""
LINKAGES = ("four_bar", "slider_crank", "five_bar", "watt", "jansen", "delta", "stewart", "belt_chain")
OTHERS = ("geared_chain", "hopper", "quadruped", "small_humanoid", "humanoid", "spinning_top")


def robots(models: Path | None) -> Iterator[tuple[str, lw.Mechanism, Any]]:
    """Names, robots, and configurations with closed loops."""
    for name in (*LINKAGES, *OTHERS):
        robot = getattr(zoo, name)()
        yield name, robot, start_of(robot)[0]
    for file in sorted(models.rglob("*")) if models else ():
        if file.suffix in (".urdf", ".xml", ".sdf") and models is not None:
            try:
                robot = lw.load(file)
            except LinkworkError as error:
                print(f"{file.relative_to(models)} does not load: {str(error)[:100]}", file=sys.stderr)
                continue
            yield str(file.relative_to(models)), robot, start_of(robot)[0]


def row(name: str, robot: lw.Mechanism, q: Any, browser: Any) -> str:
    """A row of the table."""
    stepper = lw.Stepper(robot, contact=False)
    rng = np.random.default_rng(0)
    v = 0.1 * rng.normal(size=robot.nv)
    v = robot.project_velocity(q, v) if robot.nc else v
    tau = 0.01 * rng.normal(size=robot.nv)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.process_time()
        program = export_wasm(stepper, folder, name="step", arguments=["settings"], max_operations=10**6)
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
    chromium = browser.evaluate(f"given => ({RUN})(given)", given)[1] if browser else float("nan")
    errors = []
    for k, steps in enumerate((1, 1000)):
        native = stepper(q, v, tau, steps=steps)
        near = stepper(q, v * (1 + 2e-16), tau, steps=steps)
        x = np.concatenate([native.q, native.v])
        scale = np.abs(x).max()
        errors.append(np.abs(np.array(found[k], dtype=float) - x).max() / scale)
        if steps > 1:
            own = np.abs(np.concatenate([near.q, near.v]) - x).max() / scale
    numbers = (
        f"{robot.nv}, {robot.nc} | {program.operations['step'].iteration} | {program.size / 1000:.1f} | {made:.2f}"
    )
    times = f"{node:.2f} | {chromium:.2f}"
    return f"| {name} | {numbers} | {times} | {errors[0]:.0e} | {errors[1]:.0e} | {own:.0e} |"


def main(models: Path | None) -> None:
    """Print the table."""
    from playwright.sync_api import sync_playwright

    warnings.simplefilter("ignore")
    executable = shutil.which("chromium")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"]) if executable else None
        page = started.new_page() if started else None
        print(
            "| system | velocities, rows | operations | kB | made, s | Node, µs | Chromium, µs | 1 step | 1000 | own |"
        )
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
        for name, robot, q in robots(models):
            try:
                print(row(name, robot, q, page), flush=True)
            except LinkworkError as error:
                print(f"{name}: {str(error)[:100]}", file=sys.stderr)
        if started:
            started.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)

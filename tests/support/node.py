# SPDX-License-Identifier: BSD-3-Clause
"""Exported WebAssembly run in Node, for tests."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no Node on the PATH")

SCRIPT = """
const { load } = await import(process.argv[1]);
let text = "";
for await (const chunk of process.stdin) text += chunk;
const robot = await load();
const texts = ([name, x]) => [name, Array.from(x, String)];
const plain = (outputs) => Object.fromEntries(Object.entries(outputs).map(texts));
console.log(JSON.stringify(JSON.parse(text).map(([name, inputs]) => plain(robot[name](inputs)))));
"""
"""Numbers go out as text, which JavaScript writes to the last bit, NaN included."""


def called(script: Path, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
    """Outputs of calls, one after the other on one instance: ``(function, inputs)``.

    Args:
        script: The wrapper of the module.
        calls: Functions and their inputs.
    """
    given = [(name, {array: np.ravel(x).tolist() for array, x in inputs.items()}) for name, inputs in calls]
    done = subprocess.run(
        [str(NODE), "--input-type=module", "--eval", SCRIPT, script.resolve().as_uri()],
        input=json.dumps(given),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [{name: np.array(x, dtype=float) for name, x in one.items()} for one in json.loads(done.stdout)]


WORKER = """
import { readFileSync } from "node:fs";
const page = readFileSync(process.argv[1], "utf8");
const text = (id) => new RegExp(`id="${id}">([^]*?)</script>`).exec(page)[1];
const robot = JSON.parse(text("robot"));
let answer = null;
globalThis.postMessage = (data) => (answer = data);
(0, eval)(text("worker").replace("onmessage =", "globalThis.onmessage ="));
const ask = async (data) => {
  await globalThis.onmessage({ data });
  if (answer.error) throw new Error(answer.error);
};
const description = { ...robot, parameters: Object.keys(robot.parameters) };
await ask({ kind: "start", description, bytes: Buffer.from(robot.wasm, "base64") });
for (let k = 0; k < Number(process.argv[2]); k++)
  await ask({ kind: "step", motors: robot.motors, pull: null, parameters: robot.parameters });
const { q, v, time, energy, fault, unsolved } = answer.state;
console.log(JSON.stringify({ q: [...q], v: [...v], time, energy, fault, unsolved, robot }));
"""


def page_after(page: Path, steps: int) -> dict[str, Any]:
    """The state of a live page after some steps of its worker, without a browser, and the page's `robot`.

    Args:
        page: The file.
        steps: Number of steps.
    """
    command = [str(NODE), "--input-type=module", "--eval", WORKER, str(page), str(steps)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    state: dict[str, Any] = json.loads(done.stdout)
    return state

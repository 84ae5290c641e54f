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

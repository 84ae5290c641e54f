# SPDX-License-Identifier: BSD-3-Clause
"""Random algorithms: layouts, trees, and kernel code for them (`random_kernels`), with and without iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from linkwork.kernels.algorithm import Algorithm, Shape, resolve
from linkwork.plans.layout import Layout
from tests.support.kernel_backends import written
from tests.support.random_kernels import CONSTANTS, FLOATS, INTEGERS, SIZES, Arrays, Scope, Writing, indented

INPUT_SHAPES: list[Shape] = [("n",), ("m",), ("n", 3), ("z", 2), (3,), ("n", "m")]
OUTPUT_SHAPES: list[Shape] = [("n",), ("n", 3), ("m",), (5,), ("z", "n"), ("m", "n", 2)]
WORK_SHAPES: list[Shape] = [("n",), ("n", 3), ("n", "m"), (4,), ("m", 2, 3)]


@dataclass(frozen=True)
class Program:
    """A random algorithm: its text, and the shapes of its arrays."""

    text: str
    inputs: dict[str, Shape]
    outputs: dict[str, Shape]
    work: dict[str, Shape]
    layout: Layout
    tree: Any = field(repr=False)

    @property
    def iterates(self) -> bool:
        """Whether there is a second text."""
        return "settings" in self.inputs

    @property
    def own_text(self) -> str:
        """What differs from program to program."""
        return self.text.removeprefix(CONSTANTS)

    def algorithm(self, folder: Path) -> Algorithm:
        module = written(self.text, folder)
        again = module.again if self.iterates else None
        return Algorithm("random", module.text, self.inputs, self.outputs, self.work, self.layout, again)


@st.composite
def layouts(draw: Callable[..., Any]) -> Layout:
    """Sizes and arrays in any order, which is that of the context of native code."""

    def shuffled(parts: Mapping[str, Any]) -> dict[str, Any]:
        return {name: parts[name] for name in draw(st.permutations(list(parts)))}

    return Layout("random", tuple(shuffled(SIZES)), shuffled(INTEGERS), shuffled(FLOATS))


@st.composite
def trees(draw: Callable[..., Any], layout: Layout) -> Any:
    """Small integers, and floats of which many fold."""
    sizes = SimpleNamespace(**{name: draw(st.integers(low, high)) for name, (low, high) in SIZES.items()})
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    arrays = {name: rng.integers(-4, 7, size=resolve(shape, sizes)) for name, shape in INTEGERS.items()}
    for name, shape in FLOATS.items():
        array = np.round(rng.normal(size=resolve(shape, sizes)), 1)
        array[rng.random(array.shape) < 0.4] = 0.0
        array[rng.random(array.shape) < 0.2] = 1.0
        arrays[name] = array
    return layout.type(**vars(sizes), **arrays)


@st.composite
def programs(draw: Callable[..., Any]) -> Program:
    """Random algorithms, with and without iterations."""
    iterates, angles = draw(st.booleans()), draw(st.booleans())
    shapes = [draw(st.lists(st.sampled_from(of), max_size=2)) for of in (INPUT_SHAPES, OUTPUT_SHAPES, WORK_SHAPES)]
    inputs: dict[str, Shape] = {"q": ("n",), **{f"x{k}": shape for k, shape in enumerate(shapes[0])}}
    outputs: dict[str, Shape] = {"y": ("n",), **{f"y{k}": shape for k, shape in enumerate(shapes[1])}}
    work: dict[str, Shape] = {f"a{k}": shape for k, shape in enumerate(shapes[2])}
    scratch = dict(list(work.items())[1:])
    if iterates:
        inputs["settings"], outputs["found"] = (2,), (3,)
    given = {name: shape for name, shape in inputs.items() if name != "settings"}
    constants = {f"tree.{name}": shape for name, shape in FLOATS.items()}
    written_to = {name: shape for name, shape in outputs.items() if name != "found"}
    names = ", ".join(["tree", "w", *inputs, *outputs])

    def started(kept: dict[str, Shape], filled: dict[str, Shape]) -> tuple[Writing, list[str], Scope]:
        made = Writing(draw, Arrays({**given, **constants, **kept}, {}), angles)
        lines = made.filled(filled, Scope())
        made.arrays.writable.update({**written_to, **{k: v for k, v in filled.items() if k.startswith("w.")}})
        lines += [f"{name} = {made.bounded(Scope())}" for name in ("u", "v")]
        return made, lines, Scope(floats=("u", "v"), assigned=("u", "v"))

    def leave(made: Writing, s: Scope) -> list[str]:
        return [f"if {made.condition(s)}:", "    return"] if draw(st.integers(0, 5)) == 5 else []

    made, lines, scope = started({}, {**written_to, **{f"w.{name}": shape for name, shape in work.items()}})
    if iterates:
        value = made.number(scope, 1)
        lines += [f"e = {value}", "found[0] = e * e + 0.25", "found[1] = 1.0", "found[2] = squash(e)"]
    lines += leave(made, scope) + made.block(scope, 2, 5)
    text = f"{CONSTANTS}\n\n@kernel\ndef text({names}):\n" + "\n".join(indented(lines)) + "\n"
    if iterates:
        kept = {f"w.{name}": shape for name, shape in work.items() if name not in scratch}
        made, lines, scope = started(
            {**kept, **written_to, "found": (3,)}, {f"w.{name}": shape for name, shape in scratch.items()}
        )
        rate = made.number(scope, 1)
        shrink = draw(st.sampled_from(["0.5", "(0.25 + 0.5 * r * r)", "r"]))
        lines += ["found[1] += 1.0", f"r = squash({rate})", f"found[0] = found[0] * {shrink}"]
        lines += [f"u -= squash({made.entry(scope, kept)})" for _ in range(draw(st.integers(0, 2))) if kept]
        lines += leave(made, scope) + made.block(scope, 2, 4)
        lines += ["found[2] = squash(found[2] + u)"]
        text += f"\n\n@kernel\ndef again({names}):\n" + "\n".join(indented(lines)) + "\n"
    layout = draw(layouts())
    return Program(text, inputs, outputs, work, layout, draw(trees(layout)))

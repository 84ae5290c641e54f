# SPDX-License-Identifier: BSD-3-Clause
"""The files around a module of WebAssembly: package, script, types, and what they say of themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from linkwork.compilers.wasm.kernel_code import KernelFunction
from linkwork.compilers.wasm.module import AnyFunction, WasmModule
from linkwork.export import comments
from linkwork.quantities.base import BaseEvaluator
from linkwork.quantities.counts import OperationCount

SCRIPT = """\
// Written by linkwork. load() gives an instance: arrays of the memory, and functions that read and write them.

/** Where arrays are: first place and length, in doubles. */
export const layout = @layout@;

const views = (buffer, places) =>
  Object.fromEntries(Object.entries(places).map(([name, [at, n]]) => [name, new Float64Array(buffer, 8 * at, n)]));

async function bytes() {
  const url = new URL("./@name@.wasm", import.meta.url);
  if (url.protocol !== "file:") return fetch(url).then((response) => response.arrayBuffer());
  const { readFile } = await import("node:fs/promises");
  return readFile(url);
}

/** An instance of a compiled module. */
export function instantiate(module) {
  const { memory, ...functions } = new WebAssembly.Instance(module).exports;
  const inputs = views(memory.buffer, layout.inputs);
  const instance = { memory, inputs };
  for (const [name, run] of Object.entries(functions)) {
    const outputs = views(memory.buffer, layout.outputs[name]);
    instance[name] = (given = {}) => {
      for (const [array, values] of Object.entries(given)) {
        if (!(array in inputs)) throw new TypeError(`${name} has no input '${array}'`);
        if (values.length !== inputs[array].length)
          throw new RangeError(`${array} has ${values.length} numbers, needs ${inputs[array].length}`);
        inputs[array].set(values);
      }
      run();
      return outputs;
    };
  }
  return instance;
}

/** An instance of the module beside this script, or of one that is given: its bytes, or compiled. */
export async function load(source) {
  const given = source ?? (await bytes());
  return instantiate(given instanceof WebAssembly.Module ? given : await WebAssembly.compile(given));
}
"""


def package(name: str) -> str:
    """``package.json``."""
    content = {
        "name": name.lower(),
        "version": "1.0.0",
        "description": "Dynamics of a mechanism, written by linkwork",
        "type": "module",
        "main": f"{name}.js",
        "types": f"{name}.d.ts",
        "exports": {".": {"types": f"./{name}.d.ts", "default": f"./{name}.js"}, "./wasm": f"./{name}.wasm"},
        "files": [f"{name}.js", f"{name}.d.ts", f"{name}.wasm"],
        "sideEffects": False,
    }
    return json.dumps(content, indent=2) + "\n"


def layout(module: WasmModule) -> dict[str, object]:
    """Where arrays are, as the script has it."""
    return {"inputs": module.inputs, "outputs": module.outputs}


def script(name: str, module: WasmModule) -> str:
    """The wrapper, a module of ECMAScript."""
    return SCRIPT.replace("@layout@", json.dumps(layout(module))).replace("@name@", name)


def types(name: str, module: WasmModule) -> str:
    """Types of the wrapper."""
    lines = ["/** Arrays that functions read: views of the memory. */", "export interface Inputs {"]
    lines += _arrays(module.inputs, {**comments.MEANINGS, **comments.PARAMETERS})
    lines += ["}", ""]
    for function, arrays in module.outputs.items():
        lines += [f"/** What {function} writes: views of the memory, valid until its next call. */"]
        lines += [f"export interface {_type_name(function)} {{", *_arrays(arrays, comments.MEANINGS), "}", ""]
    lines += [
        "export interface Instance {",
        "  readonly memory: WebAssembly.Memory;",
        "  readonly inputs: Inputs;",
        *(
            f"  {function}(inputs?: {{ [name in keyof Inputs]?: ArrayLike<number> }}): {_type_name(function)};"
            for function in module.outputs
        ),
        "}",
        "",
        "export type Places = Readonly<Record<string, readonly [place: number, length: number]>>;",
        "export const layout: { readonly inputs: Places; readonly outputs: Readonly<Record<string, Places>> };",
        "export function instantiate(module: WebAssembly.Module): Instance;",
        "export function load(source?: BufferSource | WebAssembly.Module): Promise<Instance>;",
        "",
    ]
    return "\n".join([f"// Types of {name}.js, written by linkwork.", "", *lines])


def _arrays(arrays: Mapping[str, tuple[int, int]], meanings: Mapping[str, str]) -> list[str]:
    lines = []
    for array, (_, size) in arrays.items():
        meaning = f": {meanings[array]}" if array in meanings else ""
        lines += [f"  /** {size} numbers{meaning} */", f"  readonly {array}: Float64Array;"]
    return lines


def _type_name(function: str) -> str:
    return "".join(word.capitalize() for word in function.split("_")) + "Outputs"


def _work_of(function: AnyFunction) -> str:
    if isinstance(function, KernelFunction):
        return "Loops of lengths that depend on the state: as many operations as contacts need."
    return comments.operations_of(OperationCount.of_trace(function.trace))


def readme(
    name: str, evaluators: Mapping[str, BaseEvaluator], module: WasmModule, functions: Sequence[AnyFunction]
) -> str:
    """README of the module: quantities and calling convention."""
    lines = [f"# {name}", "", f"WebAssembly for JavaScript, {len(module.binary)} bytes, written by linkwork.", ""]
    lines += ["```js", f'import {{ load }} from "./{name}.js";', "", "const robot = await load();"]
    first = functions[0]
    output = next(iter(first.outputs), "")
    lines += [f"robot.inputs.{array}.fill(0); // {size} numbers" for array, size in list(first.inputs.items())[:3]]
    lines += [f"const {{ {output} }} = robot.{first.name}();", "```", ""]
    for function in functions:
        evaluator = evaluators[function.name]
        facts = [
            comments.title(evaluator),
            "",
            *comments.arrays_of(function.inputs, function.outputs),
            "",
            *comments.order_of(evaluator.robot),
            "",
            _work_of(function),
        ]
        lines += [f"## {function.name}", "", "```text", *map(comments.plain, facts), "```", ""]
    return "\n".join([*lines, *(line.strip() for line in comments.CONVENTIONS), ""])

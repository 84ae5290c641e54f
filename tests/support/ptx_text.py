# SPDX-License-Identifier: BSD-3-Clause
"""PTX as LLVM prints it, read: functions, instructions, variables."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,\s()]+")
HEAD = r"^\.(?:visible \.)?(?:func|entry)\s+(?:\(\.param [^)]*\)\s*)?([\w$]+)\(([^)]*)\)\s*"
"""Of a function or a kernel: its name and parameters."""
BODY = r"(?:\.\w+ [\w, ]+\n)*\{(.*?)^\}"


@dataclass(frozen=True)
class Instruction:
    """An instruction as its text has it."""

    name: str
    parts: tuple[str, ...]
    """The operation, and what is attached to it: ``("ld", "global", "b32")``."""
    operands: tuple[str, ...]
    guard: str = ""
    negated: bool = False


@dataclass
class Function:
    """Instructions of a function and the places of its labels."""

    name: str
    parameters: list[str]
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    tables: dict[str, list[str]] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)
    first: int = 0
    """Number of its first instruction among all."""


def parsed(text: str) -> tuple[dict[str, Function], dict[str, np.ndarray[Any, Any]]]:
    """Functions of a module, and the content of its variables.

    Args:
        text: The module.
    """
    functions, variables, total = dict[str, Function](), dict[str, Any](), 0
    text = re.sub(r"//[^\n]*", "", text)
    for match in re.finditer(r"\.(?:const|global) \.align \d+ \.b8 ([\w$]+)\[(\d+)\](?: = \{([^}]*)\})?;", text):
        content = [int(x) for x in match[3].split(",")] if match[3] else []
        variables[match[1]] = np.array(content + [0] * (int(match[2]) - len(content)), np.uint8)
    for match in re.finditer(HEAD + BODY, text, re.M | re.S):
        parameters = [
            re.split(r"[\s\[]", x.strip())[-1] for x in re.sub(r"\[\d+\]", "", match[2]).split(",") if x.strip()
        ]
        now = Function(match[1], parameters, first=total)
        functions[now.name] = now
        body = re.sub(
            r"\.branchtargets\s*([^;]*);", lambda m: ".branchtargets " + " ".join(m[1].split()) + ";", match[3]
        )
        for line in (part.strip() for part in body.replace("{ ", "{").split("\n")):
            _parse_line(now, line)
        total += len(now.code)
    return functions, variables


def _parse_line(function: Function, line: str) -> None:
    register = re.match(r"\.reg \.\w+\s+%([a-z]+)<(\d+)>;", line)
    if register:
        function.registers[register[1]] = int(register[2])
        return
    label = re.match(r"(\$[\w$]+):", line)
    if label:
        table = re.match(r".*\.branchtargets (.*);", line)
        if table:
            function.tables[label[1]] = re.findall(r"\$[\w$]+", table[1])
        else:
            function.labels[label[1]] = len(function.code)
        return
    line_match = re.match(r"(?:@(!?)(%p\d+)\s+)?([a-z][\w.:]*)\s*(.*);$", line)
    if not line_match:
        return
    operands = tuple(OPERAND.findall(line_match[4]))
    parts = tuple(part for part in re.split(r"[.:]+", line_match[3]) if part)
    function.code.append(Instruction(line_match[3], parts, operands, line_match[2] or "", bool(line_match[1])))

# SPDX-License-Identifier: BSD-3-Clause
"""The graph of imports between the packages of linkwork: ``python scripts/import_graph.py``.

Prints cycles of packages and of modules, edges that point up in the declared `ORDER`, and the sizes that show the shape
of the source; writes the picture of docs/internals/architecture.md. Exits with 1 where there is a cycle, an edge that
points up, or a file of more than `MOST_LINES` lines.

Every reference from one module to another is an edge:

| kind      | what it is                                                                                            |
|-----------|-------------------------------------------------------------------------------------------------------|
| import    | an import statement that runs when the module is imported                                             |
| lazy      | an import statement inside a function                                                                 |
| name      | a string that is the name of a module: ``import_module("linkwork.zoo")``, or in a table of names       |
| attribute | a name of the root package, ``lw.load`` after ``import linkwork as lw``, which has ``__getattr__``    |
| types     | under ``TYPE_CHECKING`` or in an annotation: never runs, so no run-time edge                           |
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

REPOSITORY = Path(__file__).resolve().parents[1]
PICTURE = REPOSITORY / "docs" / "pictures" / "import_graph.svg"

ORDER: tuple[tuple[str, ...], ...] = (
    ("errors", "names"),
    ("inputs",),
    ("conversions",),
    ("model",),
    ("plans",),
    ("kernels",),
    ("compilers",),
    ("quantities",),
    ("closure",),
    ("dynamics",),
    ("contact",),
    ("drawing",),
    ("viewer",),
    ("simulation",),
    ("export", "saving"),
    ("jax", "pages", "torch"),
    ("live",),
    ("mechanism",),
    ("parsing", "zoo"),
    ("gym", "peers"),
    ("rl",),
    ("__init__",),
    ("cli",),
    ("__main__",),
)
"""Levels of packages and top-level modules, from the bottom up: one imports itself and lower levels."""

MOST_LINES = 450
"""Lines of a file, at most: what is longer has a second subject."""

Kind = Literal["import", "lazy", "name", "attribute", "types"]


class Edge(NamedTuple):
    """A reference from one module to another, by their full names."""

    source: str
    target: str
    kind: Kind
    line: int


class Function(NamedTuple):
    """A function or method, and where it is."""

    name: str
    path: Path
    lines: int
    parameters: int


@dataclass(frozen=True)
class ImportGraph:
    """Modules of a package and the references between them.

    Args:
        root: The folder of the package; its name is the package's.
    """

    root: Path

    @cached_property
    def modules(self) -> dict[str, Path]:
        """Files by the full names of modules; a package is its ``__init__``."""
        found = {}
        for path in sorted(self.root.rglob("*.py")):
            parts = (self.root.name, *path.relative_to(self.root).with_suffix("").parts)
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        return found

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """Syntax trees of all modules."""
        return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in self.modules.items()}

    @cached_property
    def exports(self) -> dict[str, str]:
        """Names that the root package has from its modules, imported or through ``__getattr__``: name to module."""
        found: dict[str, str] = {}
        for node in ast.walk(self.trees[self.root.name]):
            if isinstance(node, ast.ImportFrom) and node.module in self.modules:
                found |= {alias.asname or alias.name: node.module for alias in node.names}
            elif isinstance(node, ast.Dict):
                found |= _lazy_names(node, self.modules)
        return found

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All references between different modules."""
        found: list[Edge] = []
        for name, tree in self.trees.items():
            reader = _Reader(self, name)
            reader.visit(tree)
            found += reader.edges
        return tuple(edge for edge in found if edge.source != edge.target)

    def nearest(self, name: str) -> str | None:
        """The module that has this full name, or the innermost one around it; None outside of the package."""
        parts = name.split(".")
        if parts[0] != self.root.name:
            return None
        return next(n for k in range(len(parts), 0, -1) if (n := ".".join(parts[:k])) in self.modules)

    def package(self, module: str) -> str:
        """The package, or the top-level module, that a module belongs to; ``__init__`` for the root and namespaces."""
        parts = module.split(".")
        return parts[1] if len(parts) > 1 and module not in self.namespaces else "__init__"

    @cached_property
    def namespaces(self) -> frozenset[str]:
        """Modules at top level that import names and list them in ``__all__``, and nothing else."""
        top = (name for name, path in self.modules.items() if path.parent == self.root and name != self.root.name)
        return frozenset(name for name in top if _is_namespace(self.trees[name]))

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """Packages and top-level modules."""
        return tuple(sorted({self.package(module) for module in self.modules}))

    def between_packages(self, *, types: bool = False) -> Counter[tuple[str, str]]:
        """How many edges lead from one package to another: those that run, or those for types alone."""
        pairs = ((self.package(e.source), self.package(e.target)) for e in self.edges if (e.kind == "types") == types)
        return Counter(pair for pair in pairs if pair[0] != pair[1])

    def package_cycles(self) -> list[tuple[str, ...]]:
        """Packages that import each other, directly or not; run-time edges of all kinds count."""
        return cycles(self.packages, self.between_packages())

    def module_cycles(self, *, types: bool = False) -> list[tuple[str, ...]]:
        """The same of modules, with ``types`` of all edges. A module and the ``__init__`` around it do not count."""
        pairs = [(e.source, e.target) for e in self.edges if types or e.kind != "types"]
        return cycles(tuple(self.modules), [(a, b) for a, b in pairs if not a.startswith(f"{b}.")])

    def folder_cycles(self, package: str) -> list[tuple[str, ...]]:
        """The same of the folders, and of the modules that are in none, of one package."""

        def folder(module: str) -> str:
            return ".".join(module.split(".")[:3])

        edges = (e for e in self.edges if e.kind != "types" and self.package(e.source) == self.package(e.target))
        pairs = {(folder(e.source), folder(e.target)) for e in edges if self.package(e.source) == package}
        pairs = {(a, b) for a, b in pairs if a != b and not a.startswith(f"{b}.")}
        return cycles(sorted({name for pair in pairs for name in pair}), pairs)

    def long_files(self, most: int) -> dict[str, int]:
        """Modules with more lines than this, and how many they have."""
        return {name: lines for name in self.modules if (lines := self.lines(name)) > most}

    def upward(self, order: Sequence[Sequence[str]] = ORDER, *, types: bool = False) -> list[Edge]:
        """Edges to a package that is not on a lower level."""
        level = {package: k for k, packages in enumerate(order) for package in packages}
        found = []
        for edge in self.edges:
            source, target = self.package(edge.source), self.package(edge.target)
            if (edge.kind == "types") == types and source != target and level[target] >= level[source]:
                found.append(edge)
        return found

    def functions(self) -> Iterator[Function]:
        """All functions and methods."""
        for name, tree in self.trees.items():
            yield from _functions(tree, self.modules[name], "")

    def lines(self, module: str) -> int:
        """Lines of a module's file."""
        return len(self.modules[module].read_text(encoding="utf-8").splitlines())


def cycles(nodes: Sequence[str], edges: Iterable[tuple[str, str]]) -> list[tuple[str, ...]]:
    """Strongly connected components of more than one node."""
    number = {name: k for k, name in enumerate(nodes)}
    pairs = np.array([(number[a], number[b]) for a, b in edges], dtype=np.intp).reshape(-1, 2)
    matrix = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(nodes), len(nodes)))
    _, component = connected_components(matrix, connection="strong")
    groups = [tuple(n for n, c in zip(nodes, component, strict=True) if c == k) for k in np.unique(component)]
    return sorted(group for group in groups if len(group) > 1)


def _lazy_names(table: ast.Dict, modules: Mapping[str, Path]) -> dict[str, str]:
    """Names in a table of ``__getattr__``: ``{module: (names)}`` or ``{name: module}``."""
    found: dict[str, str] = {}
    for key, value in zip(table.keys, table.values, strict=True):
        if not isinstance(key, ast.Constant):
            continue
        if key.value in modules and isinstance(value, ast.Tuple | ast.List | ast.Set):
            found |= {str(x.value): str(key.value) for x in value.elts if isinstance(x, ast.Constant)}
        elif isinstance(value, ast.Constant) and value.value in modules:
            found[str(key.value)] = str(value.value)
    return found


def _is_namespace(tree: ast.Module) -> bool:
    """Whether a module is a docstring, imports and ``__all__``."""
    *imports, names = tree.body[1:] or [tree]
    listed = isinstance(names, ast.Assign) and ast.unparse(names.targets[0]) == "__all__"
    return listed and all(isinstance(statement, ast.ImportFrom) for statement in imports)


def _functions(node: ast.AST, path: Path, owner: str) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        name = f"{owner}{getattr(child, 'name', '')}"
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            a = child.args
            names = [x.arg for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if x is not None]
            parameters = len([x for x in names if x not in ("self", "cls")])
            yield Function(name, path, (child.end_lineno or child.lineno) - child.lineno + 1, parameters)
        scope = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from _functions(child, path, f"{name}." if scope else owner)


class _Reader(ast.NodeVisitor):
    """Finds the edges of one module."""

    def __init__(self, graph: ImportGraph, module: str) -> None:
        self.graph, self.module = graph, module
        self.edges: list[Edge] = []
        self._inside = 0
        self._for_types = 0
        self._bound: dict[str, str] = {}
        """Local names of modules of the package."""

    def _add(self, target: str, kind: Kind, line: int) -> None:
        self.edges.append(Edge(self.module, target, "types" if self._for_types else kind, line))

    def _statement(self) -> Kind:
        return "lazy" if self._inside else "import"

    def _export(self, name: str) -> str:
        """The module behind a name of the root package."""
        return self.graph.exports.get(name, self.graph.root.name)

    # Import statements

    def visit_Import(self, node: ast.Import) -> None:
        """``import linkwork.x``; the root alone is an edge where one of its names is used."""
        root = self.graph.root.name
        for alias in node.names:
            target = self.graph.nearest(alias.name)
            if target is None:
                continue
            self._bound[alias.asname or root] = target if alias.asname else root
            if target != root:
                self._add(target, self._statement(), node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """``from linkwork.x import y``, relative imports among them."""
        start = self.module.split(".")
        if self.graph.modules[self.module].name != "__init__.py":
            start = start[:-1]
        base = ".".join([*start[: len(start) - node.level + 1]] if node.level else [])
        name = ".".join(part for part in (base, node.module) if part)
        target = self.graph.nearest(name)
        if target is None:
            return
        for alias in node.names:
            whole = f"{name}.{alias.name}"
            if whole in self.graph.modules:
                self._bound[alias.asname or alias.name] = whole
                self._add(whole, self._statement(), node.lineno)
            else:
                from_root = target == self.graph.root.name
                self._add(self._export(alias.name) if from_root else target, self._statement(), node.lineno)

    # Names in strings, and names of the root package

    def visit_Constant(self, node: ast.Constant) -> None:
        """A string that is the name of a module."""
        if isinstance(node.value, str) and "." in node.value and node.value in self.graph.modules:
            self._add(node.value, "name", node.lineno)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """``f"linkwork.parsing.{form}"``: the package that is named for certain."""
        first = node.values[0] if node.values else None
        if isinstance(first, ast.Constant) and str(first.value).startswith(f"{self.graph.root.name}."):
            self._add(self.graph.nearest(str(first.value)) or self.module, "name", node.lineno)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """``lw.load``, ``lw.zoo.four_bar``: what the chain of names leads to."""
        names, start = [node.attr], node.value
        while isinstance(start, ast.Attribute):
            names.insert(0, start.attr)
            start = start.value
        module = self._bound.get(start.id) if isinstance(start, ast.Name) else None
        if module is None:
            self.generic_visit(node)
            return
        bound = module
        while names and f"{module}.{names[0]}" in self.graph.modules:
            module = f"{module}.{names.pop(0)}"
        if module == self.graph.root.name:
            module = self._export(names[0])
            if names[0].startswith("__") and names[0] in ("__name__", "__file__", "__path__"):
                return  # of every module, and known before it has run
        if module != bound or bound == self.graph.root.name:
            self._add(module, "attribute", node.lineno)

    # What does not run, or not at once

    def visit_If(self, node: ast.If) -> None:
        """``if TYPE_CHECKING:``."""
        if ast.unparse(node.test) not in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self.generic_visit(node)
            return
        self._types(node.body)
        for statement in node.orelse:
            self.visit(statement)

    def _types(self, nodes: Iterable[ast.AST | None]) -> None:
        self._for_types += 1
        for node in nodes:
            if node is not None:
                self.visit(node)
        self._for_types -= 1

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """The body runs later, annotations (as strings) never."""
        for expression in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if expression is not None:
                self.visit(expression)
        a = node.args
        self._types([*(x.annotation for x in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if x)])
        self._types([node.returns])
        self._inside += 1
        for statement in node.body:
            self.visit(statement)
        self._inside -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """``x: Mechanism = value``."""
        self._types([node.annotation])
        if node.value is not None:
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Docstrings name what they like."""
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)


# Words ---------------------------------------------------------------------------------------------------------------


def report(graph: ImportGraph, order: Sequence[Sequence[str]] = ORDER) -> str:
    """What there is to say about a package, as text."""
    kinds = Counter(edge.kind for edge in graph.edges if graph.package(edge.source) != graph.package(edge.target))
    modules = [path.stem for path in sorted(graph.root.glob("*.py")) if not path.stem.startswith("__")]
    folders = [name for name in graph.packages if (graph.root / name).is_dir()]
    module = max(graph.modules, key=graph.lines)
    functions = list(graph.functions())
    longest, widest = max(functions, key=lambda f: f.lines), max(functions, key=lambda f: f.parameters)

    def place(path: Path) -> str:
        return path.relative_to(graph.root).as_posix()

    return "\n".join(
        [
            f"{len(graph.modules)} modules in {len(folders)} packages: {', '.join(folders)}",
            f"modules at top level: {len(modules)} ({', '.join(modules)}), beside __init__ and __main__",
            f"edges between packages: {', '.join(f'{kinds[kind]} {kind}' for kind in sorted(kinds))}",
            _listed("cycles of packages", [" <-> ".join(cycle) for cycle in graph.package_cycles()]),
            _listed("edges that point up", map(_words, graph.upward(order))),
            _listed("edges for types that point up", map(_words, graph.upward(order, types=True))),
            _listed("cycles of modules", [" <-> ".join(cycle) for cycle in graph.module_cycles()]),
            _listed("with types, cycles of modules", [" <-> ".join(c) for c in graph.module_cycles(types=True)]),
            _listed(f"files over {MOST_LINES} lines", [f"{n}: {k}" for n, k in graph.long_files(MOST_LINES).items()]),
            f"longest file: {place(graph.modules[module])}, {graph.lines(module)} lines",
            f"longest function: {longest.name} in {place(longest.path)}, {longest.lines} lines",
            f"longest parameter list: {widest.name} in {place(widest.path)}, {widest.parameters} parameters",
        ]
    )


def _words(edge: Edge) -> str:
    return f"{edge.source}:{edge.line} -> {edge.target} ({edge.kind})"


def _listed(title: str, items: Iterable[str]) -> str:
    found = list(items)
    return "\n  ".join([f"{title}: {len(found) or 'none'}", *found])


def main() -> int:
    """Print the report, write the picture; 1 where something is wrong."""
    from import_picture import draw

    graph = ImportGraph(REPOSITORY / "src" / "linkwork")
    homeless = set(graph.packages) - {name for level in ORDER for name in level}
    if homeless:
        print(f"without a place in ORDER: {', '.join(sorted(homeless))}")
        return 1
    print(report(graph))
    draw(graph, PICTURE, ORDER)
    print(f"picture: {PICTURE.relative_to(REPOSITORY)}")
    wrong = (graph.package_cycles(), graph.upward(), graph.module_cycles(), graph.long_files(MOST_LINES))
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())

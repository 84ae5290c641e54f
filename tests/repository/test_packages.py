# SPDX-License-Identifier: BSD-3-Clause
"""How the package is laid out: imports point one way, and every public name is there and explained."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import linkwork
from tests.support import REPOSITORY

ROOT = Path(linkwork.__file__).parent

sys.path.insert(0, str(REPOSITORY / "scripts"))

from import_graph import MOST_LINES, ORDER, PICTURE, ImportGraph, cycles, report  # noqa: E402

GRAPH = ImportGraph(ROOT)


# Imports of linkwork -------------------------------------------------------------------------------------------------


def test_every_package_has_a_place_in_the_order() -> None:
    assert sorted(GRAPH.packages) == sorted(name for level in ORDER for name in level)


def test_packages_have_no_cycle() -> None:
    """Lazy imports, `import_module` and names of ``__getattr__`` count."""
    assert GRAPH.package_cycles() == []


def test_modules_have_no_cycle() -> None:
    """Lazy imports count; imports for types do not."""
    assert GRAPH.module_cycles() == []


def test_folders_of_kernels_have_no_cycle() -> None:
    assert GRAPH.folder_cycles("kernels") == []


def test_files_are_short() -> None:
    assert GRAPH.long_files(MOST_LINES) == {}


@pytest.mark.parametrize("package", GRAPH.packages)
def test_imports_point_down(package: str) -> None:
    assert [edge for edge in GRAPH.upward() if GRAPH.package(edge.source) == package] == []


@pytest.mark.parametrize("package", GRAPH.packages)
def test_imports_for_types_point_down(package: str) -> None:
    assert [edge for edge in GRAPH.upward(types=True) if GRAPH.package(edge.source) == package] == []


def test_a_kernel_never_imports_the_compilers() -> None:
    used = {target for source, target in GRAPH.between_packages() if source == "kernels"}
    assert used <= {"errors", "inputs", "model", "plans"}


def test_kernel_text_imports_no_library() -> None:
    """Kernels are text over scalars and arrays that come in from outside."""
    allowed = {"__future__", "collections", "collections.abc", "dataclasses", "functools", "typing"}
    for path in (ROOT / "kernels").rglob("*.py"):
        if path.name == "scalar.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not (node.module or "").startswith("linkwork"):
                found = {node.module or ""}
            else:
                continue
            assert found <= allowed, f"{path.name} imports {found - allowed}"


def test_cached_code_depends_on_all_that_kernels_and_compilers_import() -> None:
    """Names of cached code have a digest of `cache.sources`; errors and inputs say nothing of what code does."""
    from linkwork.compilers.cache import sources

    makers = ("plans", "kernels", "compilers")
    used = {e.target for e in GRAPH.edges if e.kind != "types" and GRAPH.package(e.source) in makers[1:]}
    deep = {name for name in used if GRAPH.package(name) in ("model", *makers)}
    assert {GRAPH.modules[name] for name in deep} <= set(sources())


def test_every_name_of_the_package_that_is_imported_lazily_is_seen() -> None:
    eager = {name for name in vars(linkwork) if not name.startswith("_")}
    for name in set(linkwork.__all__) - eager:
        assert name in GRAPH.exports, name
        assert hasattr(sys.modules.get(GRAPH.exports[name]) or getattr(linkwork, name), "__doc__")


# Public names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", linkwork.__all__)
def test_a_public_name_is_there_and_has_a_docstring(name: str) -> None:
    thing = getattr(linkwork, name)
    assert inspect.getdoc(thing)


def test_public_names_are_sorted_and_listed() -> None:
    assert list(linkwork.__all__) == sorted(linkwork.__all__, key=lambda name: (not name.isupper(), name))
    assert dir(linkwork) == sorted(linkwork.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = linkwork.no_such_name


# The graph itself, on small packages ---------------------------------------------------------------------------------


def package(folder: Path, **texts: str) -> ImportGraph:
    """A package of this name with modules ``a__b`` for ``a/b.py``."""
    root = folder / "small"
    for name, text in {"__init__": "", **texts}.items():
        path = root.joinpath(*name.split("__")).with_suffix(".py") if not name.startswith("__") else root / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    for inner in {path.parent for path in root.rglob("*.py")}:
        if not (inner / "__init__.py").exists():
            (inner / "__init__.py").write_text("")
    return ImportGraph(root)


KINDS = {
    "import": ("from small.low import x", "import"),
    "import of a module": ("import small.low.one", "import"),
    "module from its package": ("from small.low import one", "import"),
    "relative import": ("from ..low import one", "import"),
    "lazy import": ("def f():\n    from small.low import x\n", "lazy"),
    "lazy in a method": ("class A:\n    def f(self):\n        import small.low.one\n", "lazy"),
    "import_module": ("from importlib import import_module\nlow = import_module('small.low')\n", None),
    "import_module with a part": (
        "import importlib\ndef f(x):\n    return importlib.import_module('small.low.one')",
        "name",
    ),
    "import_module with f-string": (
        "from importlib import import_module\ndef f(x):\n  import_module(f'small.low.{x}')",
        "name",
    ),
    "a table of names": ("MODULES = {'x': 'small.low.one'}", "name"),
    "an eager name of the root": ("import small\ny = small.eager", "attribute"),
    "a lazy name of the root": ("import small as s\ndef f():\n    return s.lazy", "attribute"),
    "a lazy name from the root": ("def f():\n    from small import lazy\n", "lazy"),
    "another lazy name of the root": ("import small as s\ndef f():\n    return s.later()", "attribute"),
    "a module of the root": ("import small as s\ndef f():\n    return s.low.one.x", "attribute"),
    "types": ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from small.low import x\n", "types"),
    "typing.TYPE_CHECKING": ("import typing\nif typing.TYPE_CHECKING:\n    from small.low import x\n", "types"),
    "not for types": ("if TYPE_CHECKING:\n    pass\nelse:\n    from small.low import x\n", "import"),
    "an annotation": ("import small as s\ndef f(x: s.lazy) -> s.later:\n    y: s.eager = 1\n", "types"),
}

ROOT_TEXT = """
    from typing import TYPE_CHECKING
    from small.low.one import eager
    if TYPE_CHECKING:
        from small.low.one import lazy
    LATER = {"small.low.one": ("later",)}
    def __getattr__(name): ...
"""


@pytest.mark.parametrize("case", KINDS)
def test_every_kind_of_import_is_an_edge(case: str, tmp_path: Path) -> None:
    text, kind = KINDS[case]
    graph = package(tmp_path, __init__=ROOT_TEXT, low__one="x = 1", high__two=text)
    found = {edge.kind for edge in graph.edges if edge.source == "small.high.two" and ".low" in edge.target}
    assert found == {kind or "name"}
    assert (("high", "low") in graph.between_packages()) == (kind != "types")
    assert (("high", "low") in graph.between_packages(types=True)) == (kind == "types")


def test_what_a_module_says_of_others_in_docstrings_is_no_edge(tmp_path: Path) -> None:
    graph = package(tmp_path, low__one="x = 1", high__two='"""small.low.one"""\ndef f():\n    "small.low"\n')
    assert not graph.edges


def test_what_is_of_another_package_is_no_edge(tmp_path: Path) -> None:
    graph = package(tmp_path, low__one="import numpy as np\nfrom smaller.low import x\nimport os.path\ny = np.linalg")
    assert not graph.edges


RIGHT_C = "from small.high.right import c\n"
LEFT_B = "from small.high.left import b\n"
LAZY_BACK = "def f():\n    from small.high import two\n"
BY_NAME_BACK = "from importlib import import_module\ndef f():\n    return import_module('small.high.two')\n"
BY_ATTRIBUTE_BACK = "import small\ndef f():\n    return small.high.two.y\n"


@pytest.mark.parametrize("back", [LAZY_BACK, BY_NAME_BACK, BY_ATTRIBUTE_BACK], ids=["lazy", "name", "attribute"])
def test_a_cycle_is_found_however_it_is_hidden(back: str, tmp_path: Path) -> None:
    graph = package(tmp_path, low__one=back, high__two="from small.low import one")
    assert graph.package_cycles() == [("high", "low")]
    up = graph.upward([("low",), ("high",), ("__init__",)])
    assert {(edge.source, graph.package(edge.target)) for edge in up} == {("small.low.one", "high")}
    assert "high <-> low" in report(graph, [("low",), ("high",), ("__init__",)])


@pytest.mark.parametrize("back", [LAZY_BACK, BY_NAME_BACK, BY_ATTRIBUTE_BACK], ids=["lazy", "name", "attribute"])
def test_a_cycle_of_modules_in_one_package_is_found(back: str, tmp_path: Path) -> None:
    graph = package(tmp_path, high__one=back, high__two="from small.high import one")
    assert graph.module_cycles() == [("small.high.one", "small.high.two")]
    assert not graph.package_cycles()


def test_a_cycle_of_folders_is_found_where_modules_have_none(tmp_path: Path) -> None:
    graph = package(tmp_path, high__left__a=RIGHT_C, high__left__b="", high__right__c="", high__right__d=LEFT_B)
    assert graph.module_cycles() == []
    assert graph.folder_cycles("high") == [("small.high.left", "small.high.right")]


def test_a_cycle_for_types_is_told_apart(tmp_path: Path) -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from small.high import two\n"
    graph = package(tmp_path, high__one=text, high__two="from small.high import one")
    assert graph.module_cycles() == []
    assert graph.module_cycles(types=True) == [("small.high.one", "small.high.two")]


def test_packages_of_one_level_do_not_know_each_other(tmp_path: Path) -> None:
    graph = package(tmp_path, one__a="from small.two import b", two__b="")
    assert len(graph.upward([("one", "two"), ("__init__",)])) == 1
    assert not graph.upward([("two",), ("one",), ("__init__",)])


def test_types_that_point_up_are_told_apart(tmp_path: Path) -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from small.high import two\n"
    graph = package(tmp_path, low__one=text, high__two="from small.low import one")
    order = [("low",), ("high",), ("__init__",)]
    assert not graph.package_cycles()
    assert not graph.upward(order)
    assert len(graph.upward(order, types=True)) == 1


def test_cycles_are_strongly_connected_components() -> None:
    edges = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("d", "e"), ("e", "d"), ("f", "a")]
    assert cycles("abcdef", edges) == [("a", "b", "c"), ("d", "e")]


def test_sizes_are_those_of_the_text(tmp_path: Path) -> None:
    text = """
        class A:
            def f(self, a, /, b, *c, d, **e):
                pass

        def g(x):
            x += 1
            x *= 2
            return x
    """
    words = report(package(tmp_path, one="", two__a=text), [("one", "two", "__init__")])
    assert "modules at top level: 1 (one)" in words
    assert "longest file: two/a.py, 9 lines" in words
    assert "longest function: g in two/a.py, 4 lines" in words
    assert "longest parameter list: A.f in two/a.py, 5 parameters" in words


# The picture ---------------------------------------------------------------------------------------------------------


def test_equal_graphs_give_equal_pictures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from import_picture import draw

    draw(GRAPH, tmp_path / "a.svg", ORDER)
    draw(ImportGraph(ROOT), tmp_path / "b.svg", ORDER)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_the_picture_shows_every_package() -> None:
    words = PICTURE.read_text()
    assert [name for name in GRAPH.packages if f">{name}<" not in words] == []

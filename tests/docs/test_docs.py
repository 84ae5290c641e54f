# SPDX-License-Identifier: BSD-3-Clause
"""The documentation site: it builds, its links lead somewhere, it loads nothing from outside, and its code runs."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import linkwork as lw
from linkwork.dynamics.iterations import REGULARIZATION
from tests.support import REPOSITORY, printed, robots

ROOT = REPOSITORY
DOCS = ROOT / "docs"

RUN = (
    *(
        "tutorials/first-steps",
        "tutorials/machine",
        "tutorials/contact",
        "tutorials/legged-robot",
        "tutorials/gradients",
        "tutorials/learning",
    ),
    *("index", "concepts/index", "how-to/extending", "internals/kernels"),
    *("how-to/migration-pinocchio", "how-to/migration-mujoco", "how-to/changing-robots", "how-to/control-tasks"),
    *("how-to/gymnasium", "how-to/sensors", "how-to/migration-adams"),
    *(
        f"reference/api/{page.stem}"
        for page in sorted((DOCS / "reference/api").glob("*.md"))
        if "print(" in page.read_text()
    ),
)
"""Pages whose code is run, and whose comments are results."""
NEEDS = {
    "how-to/migration-pinocchio": ("pinocchio",),
    "how-to/migration-mujoco": ("mujoco",),
    "how-to/changing-robots": ("pinocchio",),
    "tutorials/first-steps": ("matplotlib",),
    "tutorials/legged-robot": ("matplotlib",),
    "tutorials/learning": ("gymnasium",),
    "how-to/migration-adams": ("matplotlib",),
    "how-to/gymnasium": ("gymnasium", "matplotlib"),
    "reference/api/models": ("mujoco", "pinocchio"),
}


# The site ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built strictly: every warning is an error."""
    if not all(importlib.util.find_spec(name) for name in ("mkdocs", "material", "mkdocstrings")):
        pytest.skip("mkdocs is not installed: pip install 'linkwork[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "object": "data"}
"""Elements for which a browser fetches something, and where they say what."""
LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "manifest"}
"""Kinds of <link> for which it does."""


class Page(HTMLParser):
    """What a page has to jump to, what it links to, and what a browser fetches to show it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in FETCHED and values.get(FETCHED[tag]):
            self.fetched.append(values[FETCHED[tag]])
        if tag == "link" and LINKS & set(values.get("rel", "").split()):
            self.fetched.append(values["href"])


@cache
def read(path: Path) -> Page:
    return Page(path)


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if path.name != "404.html")  # its links are absolute


def test_every_link_and_anchor_leads_somewhere(site: Path) -> None:
    wrong = []
    for path in pages(site):
        for link in read(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target = target / "index.html"
            there = target.is_file() and (
                not parts.fragment or target.suffix != ".html" or unquote(parts.fragment) in read(target).anchors
            )
            if not there and link != "#":
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert not wrong
    assert len(pages(site)) > 20


def test_nothing_is_fetched_from_outside(site: Path) -> None:
    """Neither by pages nor by style sheets; what is fetched is there. (The theme's script would fetch mermaid.)"""
    for path in pages(site):
        assert 'class="mermaid"' not in path.read_text(encoding="utf-8"), path
        for address in read(path).fetched:
            if address.startswith("data:"):
                continue
            assert not urlsplit(address).netloc, f"{path.name} loads {address}"
            assert (path.parent / unquote(urlsplit(address).path)).resolve().is_file(), f"{path.name} loads {address}"
    for sheet in site.rglob("*.css"):
        outside = re.findall(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)\s]*", sheet.read_text(encoding="utf-8"))
        assert not outside, sheet


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    known = set().union(*(read(path).anchors for path in (site / "reference").rglob("*.html")))
    spaces = [name for name in lw.__all__ if inspect.ismodule(getattr(lw, name)) and name != "zoo"]
    names = [name for name in lw.__all__ if name not in spaces]
    names += [f"{space}.{name}" for space in spaces for name in getattr(lw, space).__all__]
    assert [name for name in names if f"linkwork.{name}" not in known] == []


def test_every_public_name_has_an_example() -> None:
    """In code on a page; errors and warnings have theirs on the page of errors (`test_errors_page`)."""
    pages = [page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *DOCS.rglob("*.md"))]
    code = "\n".join(block for page in pages for block in re.findall(r"```py.*?\n(.*?)```", page, re.DOTALL))
    known = set(re.findall(r"\w+", code)) | set(lw.errors.__all__)
    spaces = [getattr(lw, name) for name in lw.__all__ if inspect.ismodule(getattr(lw, name)) and name != "zoo"]
    names = set(lw.__all__).union(*(space.__all__ for space in spaces))
    assert sorted(names - known) == []


def test_every_mechanism_of_the_zoo_is_in_the_reference(site: Path) -> None:
    known = read(site / "reference" / "api" / "zoo.html").anchors
    missing = [name for name in lw.zoo.__all__ if name[0].islower() and f"linkwork.zoo.{name}" not in known]
    assert not missing


def test_every_page_is_in_the_navigation(site: Path) -> None:
    """From the first page, by what the navigation lists."""
    listed = {(site / unquote(urlsplit(link).path)).resolve() for link in read(site / "index.html").links}
    missing = [p.relative_to(DOCS) for p in DOCS.rglob("*.md") if _built(site, p) not in listed]
    assert not missing


def _built(site: Path, page: Path) -> Path:
    return (site / page.relative_to(DOCS)).with_suffix(".html").resolve()


def test_docstrings_of_the_reference_are_markdown(site: Path) -> None:
    """Doctests are code, not quotations, and names in backticks are links."""
    models = (site / "reference" / "api" / "models.html").read_text(encoding="utf-8")
    assert "<blockquote>" not in models
    assert "language-pycon" in models
    dynamics = read(site / "reference" / "api" / "dynamics.html").links
    assert "#linkwork.Evaluator.bind" in dynamics and "../errors.html#linkwork.errors.NotConverged" in dynamics


def test_formulas_are_mathml(site: Path) -> None:
    """Made when the site was built: nothing is left of TeX, and no script is needed to show them."""
    for path in pages(site):
        text = path.read_text(encoding="utf-8")
        assert "arithmatex" not in text and "\\top" not in text, path
    for path in (DOCS / "concepts" / "algorithms").glob("*.md"):
        assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in _built(site, path).read_text()


def test_tex_in_a_page_becomes_mathml(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("latex2mathml")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    made = __import__("mathematics").with_mathml(r'<p>as <span class="arithmatex">\(a &lt; b^2\)</span> says</p>')
    assert made.startswith("<p>as <math") and made.endswith("</math> says</p>")
    assert "<msup><mi>b</mi><mn>2</mn></msup>" in made and "&#x0003C;" in made


@pytest.mark.parametrize(
    "term", ["Baumgarte", "motion subspace", "spatial inertia", "bias force", "warm start", "proximal", "Delassus"]
)
def test_words_of_the_field_are_in_the_index_of_the_search(site: Path, term: str) -> None:
    """On a page that explains them, besides the glossary."""
    index = json.loads((site / "search" / "search_index.json").read_text())
    found = {entry["location"].split("#")[0] for entry in index["docs"] if term.casefold() in entry["text"].casefold()}
    assert "reference/glossary.html" in found and len(found) > 1


PHRASES = {
    "load urdf": "reference/files",
    "mjcf": "reference/mjcf",
    "inverse kinematics": "how-to/inverse-kinematics",
    "contact friction": "how-to/contact",
    "reaction forces": "how-to/machine-elements",
    "motor": "how-to/actuators",
    "imu sensor": "how-to/sensors",
    "lidar": "how-to/sensors",
    "pytorch": "how-to/torch",
    "jax": "how-to/jax",
    "run on gpu": "how-to/gpu",
    "export c": "how-to/export",
    "lqr": "how-to/lqr",
    "identify parameters": "how-to/identification",
    "domain randomization": "how-to/parameters",
    "reinforcement learning": "how-to/gymnasium",
    "train policy": "how-to/gymnasium",
    "operational space": "how-to/control-tasks",
    "add a constraint": "how-to/extending",
    "spanning tree": "how-to/spanning-trees",
    "mujoco": "how-to/migration-mujoco",
    "gradient of a simulation": "tutorials/gradients",
    "trajectory optimization": "tutorials/swing-up",
    "warm start": "reference/methods",
    "same bits": "concepts/determinism",
}
"""What users type, and the page that they should see first."""


def test_the_right_page_is_first_in_the_search(site: Path) -> None:
    """By lunr, with the index and the factors of the site."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on the PATH")
    library = Path(importlib.import_module("mkdocs").__path__[0], "contrib/search/templates/search/lunr.js")
    command = [node, str(Path(__file__).with_name("search.js")), str(library)]
    done = subprocess.run(
        [*command, str(site / "search" / "search_index.json"), json.dumps(list(PHRASES))],
        capture_output=True,
        text=True,
        check=True,
    )
    first = {phrase: pages[0].removesuffix(".html") for phrase, pages in json.loads(done.stdout).items()}
    assert first == PHRASES


def test_search_works_from_a_folder(site: Path) -> None:
    """In a browser, on a page below the first: what is typed is found, and what is found is there."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium on the PATH")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, headless=True, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "concepts" / "algorithms" / "ltl.html").as_uri())
        page.locator(".md-search__input").press_sequentially("mobility")
        page.wait_for_selector(".md-search-result__item", timeout=60_000)
        found = [link.get_attribute("href") or "" for link in page.locator(".md-search-result__link").all()]
        height = page.locator("math").first.bounding_box()["height"]
        browser.close()
    assert any(urlsplit(link).path.endswith("/api/coordinates.html") for link in found)
    assert all(Path(unquote(urlsplit(link).path)).is_file() for link in found)
    assert all(urlsplit(address).scheme in ("file", "data", "about", "blob") for address in asked)
    assert height > 40  # two rows of a matrix


def test_pages_link_to_the_repository_that_the_project_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = pytest.importorskip("mkdocs.config.base")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: linkwork\nhooks: [repository.py]\n")
    shutil.copy(ROOT / "scripts" / "repository.py", tmp_path)
    for urls, expected in (
        ("", None),
        ('[project.urls]\nRepository = "https://example.org/l"\n', "https://example.org/l"),
    ):
        (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "linkwork"\n{urls}')
        config = base.load_config(str(tmp_path / "mkdocs.yml"))
        assert config.plugins.on_config(config).repo_url == expected
        assert "version" not in config.extra
    monkeypatch.setenv("MIKE_DOCS_VERSION", "0.4")
    assert config.plugins.on_config(config).extra["version"] == {"provider": "mike"}


def signatures(page: Path) -> list[str]:
    """Of all functions and classes on a page of the reference, as text."""
    blocks = re.findall(
        r'<div class="[^"]*doc-signature[^"]*"><pre>(.*?)</pre>', page.read_text(encoding="utf-8"), re.S
    )
    texts = [unescape(re.sub(r"<[^>]+>", "", block)).strip() for block in blocks]
    return [text for text in texts if re.match(r"\w+\(", text)]  # attributes have none


def test_signatures_show_values_and_words(site: Path) -> None:
    """No default is the name of a constant, and words that parameters take are spelled out."""
    found = [text for page in sorted((site / "reference" / "api").glob("*.html")) for text in signatures(page)]
    assert len(found) > 150
    named = [default for text in found for default in re.findall(r"\w+: [^=\n]*= (?:\w+\.)*_?[A-Z][A-Z_]+\b", text)]
    assert not [default for default in named if not default.startswith("autoreset_mode")]  # a member of an enumeration
    (forward,) = (text for text in found if text.startswith("ForwardDynamics("))
    assert f"regularization: float = {REGULARIZATION}" in forward and '"prox_bbo",' in forward
    assert any('reference: Literal["local", "aligned", "world"] = "local"' in text for text in found)


def test_reference_lists_parameters_of_bases(site: Path) -> None:
    """A hinge takes what every constraint takes: its section says what that is."""
    text = (site / "reference" / "api" / "constraints.html").read_text(encoding="utf-8")
    start = text.index('id="linkwork.constraints.Hinge"')
    listed = re.findall(
        r"<b><code>(\w+)</code></b>", text[start : text.index('id="linkwork.constraints.Slider"', start)]
    )
    assert {"first", "second", "axis", "compliance", "enabled", "time_constant"} <= set(listed)


# Pictures ----------------------------------------------------------------------------------------------------


def test_pictures_of_the_guide_are_those_that_the_script_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    drawn = set(__import__("make_pictures").PICTURES)
    there = {path.stem for path in (DOCS / "pictures").glob("*.svg")}
    shown = {
        name
        for page in DOCS.rglob("*.md")
        for name in re.findall(r"\]\((?:\.\./)*pictures/([\w-]+)\.svg\)", page.read_text())
    }
    assert drawn <= there
    assert drawn <= shown, f"no page shows {drawn - shown}"


# Code --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RUN)
def test_code_prints_what_its_comments_say(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks run one after the other in one namespace; pages that compare with a peer do so themselves."""
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    blocks = printed.blocks(DOCS / f"{name}.md")
    if any("go2.urdf" in block for block in blocks):
        shutil.copy(robots.path_of("go2"), tmp_path / "go2.urdf")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    results = [result for block in blocks for result in printed.run(block, names)]
    assert results
    for result in results:
        assert result.true, f"{result.statement}\nprints {result.found!r}\nclaims {result.claimed!r}"


@pytest.mark.parametrize("name", ["how-to/migration-pinocchio", "how-to/migration-mujoco"])
def test_pairs_of_code_are_compared(name: str) -> None:
    """After both sides of each pair a line says how their numbers correspond; the code above runs it."""
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    after = re.split(r'^=== "linkwork"$', text, flags=re.MULTILINE)[1:]
    assert len(after) >= 6
    quiet = [part for part in after[1:] if not re.search(r"^ {0,4}close\(", part.split("\n## ")[0], re.MULTILINE)]
    assert not quiet


def test_a_wrong_comment_is_found() -> None:
    names: dict[str, object] = {}
    right, wrong, below, silent = printed.run(
        "print(1 + 1)  # 2: the sum\nprint(3)  # 4\nfor k in range(2):\n    print(k)\n# 0\n# 1\nprint(5)\n", names
    )
    assert right.true and below.true
    assert not wrong.true and not silent.true

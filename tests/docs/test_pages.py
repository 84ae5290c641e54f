# SPDX-License-Identifier: BSD-3-Clause
"""The code on pages of the documentation runs as it stands."""

from __future__ import annotations

import re

import numpy as np
import pytest

import linkwork as lw
from tests.support import REPOSITORY
from tests.support.printed import filed

DOCS = REPOSITORY / "docs"


def code_of(page: str) -> str:
    """All Python on a page, in order."""
    return "\n".join(re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL))


def test_clusters(capsys: pytest.CaptureFixture[str]) -> None:
    """Results are those that the page names in comments."""
    names: dict[str, object] = {}
    exec(code_of("concepts/clusters.md"), names)
    printed = capsys.readouterr().out
    for k, top in enumerate(("world", "link0", "link1")):
        assert f"{top} ('joint{k}',) ('rotor{k}',)" in printed
    engine, solution, robot = names["engine"], names["solution_by_cluster"], names["robot"]
    assert isinstance(engine, lw.Mechanism) and isinstance(robot, lw.Mechanism)
    assert isinstance(solution, lw.results.InverseSolution)
    assert repr(names["minimal"]) == "Minimal('geared chain of 3', 3 of 6: joint0, joint1, joint2)"
    assert np.abs(solution.torque).max() < 1e-12
    assert np.abs(lw.constraint_error(robot, names["q"])).max() < 1e-13  # type: ignore[arg-type]
    q = engine.assemble([0.7, 0.3], fixed=["turn"])
    assert q[1] == pytest.approx(0.1 * np.cos(0.7) + np.sqrt(0.09 - (0.1 * np.sin(0.7)) ** 2))
    assert "joint_torque" in names
    np.testing.assert_allclose(names["joint_torque"], [1.0, 0.5, 0.2], rtol=1e-12)  # type: ignore[call-overload]


def test_inverse_kinematics(capsys: pytest.CaptureFixture[str]) -> None:
    """What the page names in comments is what is printed."""
    code = code_of("how-to/inverse-kinematics.md")
    exec(code, {})
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "loops closed, all targets met"
    assert printed[1] == "True ['center_of_mass', 'platform']" and printed[3] == "True (200, 25)"
    assert f"# {printed[2]}" in code.splitlines()


def test_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    """Robots that differ are those that are rebuilt; gradients agree."""
    exec(code_of("how-to/parameters.md"), {})
    assert capsys.readouterr().out.splitlines() == ["True", "(1,)", "(500, 3)", "True"]


def test_torch(capsys: pytest.CaptureFixture[str]) -> None:
    """What the page names in comments is what is printed."""
    torch = pytest.importorskip("torch")
    code = code_of("how-to/torch.md")
    try:
        exec(code, {})
    finally:
        torch.set_default_dtype(torch.float32)
    printed = capsys.readouterr().out.splitlines()
    assert printed == re.findall(r"print\(.*\)  # (.*)", code)


def test_jax(capsys: pytest.CaptureFixture[str]) -> None:
    """What the page names in comments is what is printed."""
    jax = pytest.importorskip("jax")
    code, before = code_of("how-to/jax.md"), jax.config.jax_enable_x64
    try:
        exec(code, {})
    finally:
        jax.config.update("jax_enable_x64", before)
    printed = capsys.readouterr().out.splitlines()
    assert printed == re.findall(r"print\(.*\)  # (.*)", code)


@pytest.mark.parametrize(
    "page", ["how-to/identification", "tutorials/swing-up", "how-to/lqr", "how-to/gpu", "how-to/design"]
)
def test_what_is_printed(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What pages print is what they name in comments."""
    code = code_of(f"{page}.md")
    exec(code, {})
    printed = capsys.readouterr().out.splitlines()
    assert printed == re.findall(r"^print\(.*\) +# (.+)$", code, re.MULTILINE)


def test_delassus(capsys: pytest.CaptureFixture[str]) -> None:
    """The page's claims hold: solvers agree, feet stand after the impact, contacts have three rows each."""
    names: dict[str, object] = {}
    exec(code_of("how-to/delassus.md"), names)
    printed = capsys.readouterr().out.splitlines()
    assert "0 True" in printed
    assert "True" in printed
    assert "(2, 12)" in printed
    assert printed[-1] == "(12, 12)"
    values = np.array(printed[printed.index("0 True") + 1].strip("[]").split(), dtype=float)
    assert values.max() == pytest.approx(1.0, abs=1e-4)


def test_simulation(capsys: pytest.CaptureFixture[str]) -> None:
    """Energy and loops hold as the page says, and kernels are what Python is."""
    names: dict[str, object] = {}
    code = code_of("how-to/simulation.md")
    exec(compile(code, filed(code), "exec", dont_inherit=True), names)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "rk4 <Trajectory of 'four-bar closed by a hinge', 0 to 1 s, 101 states>"
    assert printed[1] == "True True"
    assert printed[2:4] == ["[('meet', 1.0), ('part', 1.5), ('until', 1.5)]", "[0.4 0.4] 1.0"]
    del printed[2:4]
    assert printed[7:10] == ["(501, 1) True", "[0.12] [[0.008 0.008 0.008]]", "True"]
    del printed[7:10]
    contacts = ["True", "(401, 4, 3) (401, 4)", "True True", "True", "0"]
    assert printed[2:16] == [*["True"] * 5, "(201, 3)", "True", *contacts, "(3, 64, 3)", "True"]
    del printed[9:14]
    assert printed.pop(11) == "(5, 64, 3) [100 120]"
    assert printed[11] == "<Sweep of 'four-bar closed by a hinge' over A, 100 configurations>"
    assert printed[12] == "(100, 3) True" and 0.5 < float(printed[13]) < np.pi
    assert printed[14].startswith("sweep of 'four-bar closed by a hinge' to 2.62857 (value 22 of 50): D stops at 2.62")
    assert printed[15:] == ["21"]


def test_machine_elements() -> None:
    """A driven linkage follows its curve, and the power of its drive is known."""
    names: dict[str, object] = {}
    exec(code_of("how-to/machine-elements.md"), names)
    run = names["run"]
    assert isinstance(run, lw.Trajectory)
    assert run.errors.max() < 1e-6
    assert np.isfinite(run.power["drive"]).all()

# SPDX-License-Identifier: BSD-3-Clause
"""Functions and derivatives in C with CasADi's conventions: called as CasADi does, and in CasADi itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.export.patterns import Pattern, column_groups
from tests.support.casadi_library import COMPILER, External, built
from tests.support.states import assert_close

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

Case = tuple[lw.Mechanism, Any, list[Any], list[Any]]


def tree_case(quantity: str) -> Case:
    """An evaluator of a tree with all kinds of joints, what it is given, what it returns."""
    robot = zoo.random_tree(5, bodies=4)
    rng = np.random.default_rng(2)
    q = robot.integrate(robot.neutral(), rng.normal(size=robot.nv))
    v, x = rng.normal(size=(2, robot.nv))
    frames = robot.body_names[2:4]
    if quantity == "forward_dynamics":
        fd = lw.ForwardDynamics(robot)
        return robot, fd, [q, v, x], [fd(q, v, x).acceleration]
    if quantity == "inverse_dynamics":
        wrenches = rng.normal(size=(2, 6))
        inverse = lw.InverseDynamics(robot, wrenches=frames)
        return robot, inverse, [q, v, x, wrenches], [inverse(q, v, x, wrenches)]
    if quantity == "step":
        stepper = lw.Stepper(robot, "rk4", 1e-2)
        after = stepper(q, v, x)
        return robot, stepper, [q, v, x], [after.q, after.v]
    named = lw.Evaluator(robot, quantity, frames if quantity.startswith(("frame", "point")) else ())  # type: ignore[arg-type]
    given = [q, v] if quantity == "energy" else [q]
    found = named(*given)
    return robot, named, given, list(found) if isinstance(found, tuple) else [found]


def loop_case(which: str) -> Case:
    """The same of a four-bar, closed, whose weld has redundant rows."""
    robot = zoo.four_bar()
    rng = np.random.default_rng(3)
    q = robot.assemble(robot.neutral() + 0.2)
    v, tau = robot.project_velocity(q, rng.normal(size=robot.nv)), rng.normal(size=robot.nv)
    if which in ("euler", "minimal"):
        stepper = lw.Stepper(robot, method="minimal" if which == "minimal" else "auto")
        after = stepper(q, v, tau)
        return robot, stepper, [q, v, tau], [after.q, after.v, after.multipliers]
    fd = lw.ForwardDynamics(robot, which)  # type: ignore[arg-type]
    found = fd(q, v, tau)
    return robot, fd, [q, v, tau], [found.acceleration, found.multipliers]


CASES: dict[str, Callable[[], Case]] = {
    **{
        name: (lambda name=name: tree_case(name))
        for name in ("forward_dynamics", "inverse_dynamics", "step", "mass_matrix", "frame_jacobian", "energy")
    },
    **{name: (lambda name=name: loop_case(name)) for name in ("prox_bbo", "cluster", "minimal")},
}


def differences(external: External, inputs: list[Any], h: float = 1e-6) -> list[Any]:
    """The Jacobians of all outputs by all inputs by central differences, with entries in CasADi's order."""
    blocks = []
    for k, x in enumerate(inputs):
        flat = np.asarray(x, dtype=float).reshape(external.inputs[k][1])
        columns = []
        for c in range(flat.shape[1]):
            for r in range(flat.shape[0]):
                moved = [flat.copy(), flat.copy()]
                moved[0][r, c] += h
                moved[1][r, c] -= h
                after, before = ([*inputs[:k], x, *inputs[k + 1 :]] for x in moved)
                pairs = zip(external(*after), external(*before), strict=True)
                columns.append([(a - b).ravel(order="F") / (2 * h) for a, b in pairs])
        blocks.append([np.array(column).T for column in zip(*columns, strict=True)])
    return [blocks[k][n] for n in range(len(external.outputs)) for k in range(len(inputs))]


@pytest.mark.parametrize("case", CASES)
def test_functions_and_derivatives(tmp_path: Path, case: str) -> None:
    _, evaluator, inputs, wanted = CASES[case]()
    made = lw.export.export_casadi(evaluator, tmp_path / "f.c")
    library = built(made)
    f, jac, fwd, adj = (External(library, name) for name in ("f", "jac_f", "fwd1_f", "adj1_f"))
    found = f(*inputs)
    for x, y in zip(found, wanted, strict=True):
        assert_close(x, np.asarray(y).reshape(x.shape), 1e-9)
    J = jac(*inputs, *found)
    D = differences(f, inputs)
    for x, y in zip(J, D, strict=True):
        assert_close(x, y, 1e-6, scale=max(np.abs(y).max(), 1.0))
    rng = np.random.default_rng(0)
    dx = [rng.normal(size=shape) for _, shape, _ in f.inputs]
    bar = [rng.normal(size=y.shape) for y in found]
    dy, dbar = fwd(*inputs, *found, *dx), adj(*inputs, *found, *bar)
    there = [
        np.isin(np.arange(y.size), [c * y.shape[0] + r for r, c in at])
        for y, (_, _, at) in zip(found, f.outputs, strict=True)
    ]
    for n, y in enumerate(dy):
        products = sum(J[n * len(dx) + k] @ d.ravel(order="F") for k, d in enumerate(dx))
        assert_close(y.ravel(order="F"), products, 1e-11, scale=max(np.abs(products).max(), 1.0))
    for k, x in enumerate(dbar):
        products = sum(
            J[n * len(dx) + k].T @ (b.ravel(order="F") * on) for n, (b, on) in enumerate(zip(bar, there, strict=True))
        )
        assert_close(x.ravel(order="F"), products, 1e-11, scale=max(np.abs(products).max(), 1.0))


def test_names_and_patterns(tmp_path: Path) -> None:
    made = lw.export.export_casadi(lw.InverseDynamics(zoo.pendulum(2)), tmp_path / "arm.c")
    assert made.name == "arm" and made.inputs == {"q": (2, 1), "v": (2, 1), "a": (2, 1)}
    jac = External(built(made), "jac_arm")
    assert [name for name, _, _ in jac.inputs] == ["q", "v", "a", "out_tau"]
    assert jac.inputs[-1][1:] == ((2, 1), [])  # the result itself is not read
    assert [name for name, _, _ in jac.outputs] == ["jac_tau_q", "jac_tau_v", "jac_tau_a"]
    # the first joint's speed does not move the second's torque by itself, nor the second's its own
    assert jac.outputs[1][2] == [(0, 0), (1, 0), (0, 1)] or jac.outputs[1][2] == [(1, 0), (0, 1)]
    assert made.entries["jac_tau_v"] == len(jac.outputs[1][2])


def test_missing_inputs_are_zero_and_missing_outputs_are_skipped(tmp_path: Path) -> None:
    robot = zoo.pendulum(2)
    made = lw.export.export_casadi(lw.ForwardDynamics(robot), tmp_path / "arm.c")
    f, jac = (External(built(made), name) for name in ("arm", "jac_arm"))
    assert_close(
        f([0.3, 0.2], None, None)[0].ravel(),
        lw.ForwardDynamics(robot)([0.3, 0.2], *np.zeros((2, 2))).acceleration,
        1e-12,
    )
    whole = jac([0.3, 0.2], None, None, None)
    part = jac([0.3, 0.2], None, None, None, wanted=[2])
    assert np.array_equal(part[2], whole[2]) and np.isnan(part[0][part[0] != 0]).all()


def test_large_jacobians_are_found_by_groups_of_columns(tmp_path: Path) -> None:
    _, fd, inputs, _ = tree_case("forward_dynamics")
    straight = lw.export.export_casadi(fd, tmp_path / "f.c")
    grouped = lw.export.export_casadi(fd, tmp_path / "g.c", max_operations=5000)
    assert straight.groups == 0 and 0 < grouped.groups <= sum(rows for rows, _ in grouped.inputs.values())
    found = [External(built(made), f"jac_{made.name}")(*inputs, None) for made in (straight, grouped)]
    for x, y in zip(*found, strict=True):
        assert_close(x, y, 1e-12)


def test_redundant_rows_read_forces_of_the_result(tmp_path: Path) -> None:
    made = lw.export.export_casadi(lw.ForwardDynamics(zoo.four_bar(), "prox_bbo"), tmp_path / "f.c")
    jac = External(built(made), "jac_f")
    shapes = {name: len(places) for name, _, places in jac.inputs}
    assert shapes["out_a"] == 0 and shapes["out_multipliers"] == 5


def test_iterations_without_derivatives_are_refused(tmp_path: Path) -> None:
    robot = zoo.boxes(1)
    with pytest.raises(lw.errors.UnsupportedFeature, match="derivatives=False"):
        lw.export.export_casadi(lw.contact.ContactStep(robot), tmp_path / "f.c")


def test_products_are_refused(tmp_path: Path) -> None:
    with pytest.raises(lw.errors.UnsupportedFeature, match="fwd1 and adj1"):
        lw.export.export_casadi(lw.ForwardDynamics(zoo.pendulum()).vjp, tmp_path / "f.c")


def test_column_groups_share_no_row() -> None:
    columns = [0b011, 0b100, 0b110, 0b001, 0]
    groups = column_groups(columns)
    assert sorted(j for group in groups for j in group) == [0, 1, 2, 3]
    for group in groups:
        assert (
            sum(columns[j].bit_count() for j in group) == np.bitwise_or.reduce([columns[j] for j in group]).bit_count()
        )
    assert Pattern.of(2, 2, [(1, 0), (0, 1)]).numbers() == [2, 2, 0, 1, 2, 1, 0]
    assert Pattern.dense(2, 3).numbers() == [2, 3, 1]


# In CasADi ---------------------------------------------------------------------------------------------------


def test_casadi_uses_these_derivatives(tmp_path: Path) -> None:
    casadi = pytest.importorskip("casadi")
    robot, fd, inputs, wanted = loop_case("prox_bbo")
    made = lw.export.export_casadi(fd, tmp_path / "f.c")
    alone = lw.export.export_casadi(fd, tmp_path / "alone.c", name="f", derivatives=False)
    f = casadi.external("f", built(made))
    numeric = casadi.external("f", built(alone), {"enable_fd": True, "fd_method": "central"})
    a, multipliers = f(*inputs)
    assert_close(np.array(a).ravel(), wanted[0], 1e-10)
    blocks, expected = f.jacobian()(*inputs, a, multipliers), numeric.jacobian()(*inputs, a, multipliers)
    for x, y in zip(blocks, expected, strict=True):
        assert_close(np.array(x), np.array(y), 1e-5, scale=max(np.abs(np.array(y)).max(), 1.0))
    # an expression of which CasADi takes derivatives itself, forward, reverse and as a gradient
    tau = casadi.MX.sym("tau", robot.nv)
    cost = casadi.sumsqr(f(inputs[0], inputs[1], tau)[0])
    gradient = np.array(casadi.Function("g", [tau], [casadi.gradient(cost, tau)])(inputs[2])).ravel()
    assert_close(gradient, 2 * np.array(blocks[2]).T @ np.array(a).ravel(), 1e-9)


def test_casadi_solves_for_torques(tmp_path: Path) -> None:
    """Newton's method of CasADi on our forward dynamics finds what inverse dynamics says."""
    casadi = pytest.importorskip("casadi")
    robot, fd, (q, v, tau), (a,) = tree_case("forward_dynamics")
    f = casadi.external("f", built(lw.export.export_casadi(fd, tmp_path / "f.c")))
    x = casadi.MX.sym("x", robot.nv)
    solve = casadi.rootfinder("solve", "newton", {"x": x, "g": f(q, v, x) - a})
    assert_close(np.array(solve(x0=np.zeros(robot.nv))["x"]).ravel(), tau, 1e-8)


@pytest.mark.parametrize("kind", ["tree", "loop"])
def test_casadi_has_exact_hessians(tmp_path: Path, kind: str) -> None:
    casadi = pytest.importorskip("casadi")
    robot, fd, inputs, _ = tree_case("forward_dynamics") if kind == "tree" else loop_case("prox_bbo")
    f = casadi.external("f", built(lw.export.export_casadi(fd, tmp_path / "f.c")))
    x = casadi.MX.sym("x", robot.nq + 2 * robot.nv)
    a = f(*casadi.vertsplit(x, [0, robot.nq, robot.nq + robot.nv, robot.nq + 2 * robot.nv]))
    cost = casadi.dot(a if kind == "tree" else a[0], casadi.DM(np.arange(1.0, robot.nv + 1)))
    gradient = casadi.Function("g", [x], [casadi.gradient(cost, x)])
    hessian = np.array(casadi.Function("H", [x], [casadi.hessian(cost, x)[0]])(np.concatenate(inputs)))

    def along(t: float) -> Any:
        return np.array([np.array(gradient(np.concatenate(inputs) + t * e)).ravel() for e in np.eye(len(hessian))])

    h = 1e-4
    differences = (8 * (along(h) - along(-h)) - (along(2 * h) - along(-2 * h))) / (12 * h)
    assert_close(hessian, differences, 1e-9 if kind == "tree" else 1e-6)  # of iterations, gradients have eight digits


def test_second_derivatives_that_would_be_too_large_are_left_out(tmp_path: Path) -> None:
    _, fd, _, _ = tree_case("forward_dynamics")
    whole = lw.export.export_casadi(fd, tmp_path / "f.c").operations
    most = sum(whole["fwd1_adj1"].values()) - 1
    assert "fwd1_adj1" not in lw.export.export_casadi(fd, tmp_path / "f.c", max_operations=most).operations

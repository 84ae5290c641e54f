# SPDX-License-Identifier: BSD-3-Clause
"""How Delassus operators are made and called: rows, batches, the three ways, bound arrays, memory, wrong calls."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.dynamics.delassus import METHODS, Delassus
from linkwork.mechanism import Mechanism
from tests.support import linkages
from tests.support.states import Floats, assert_close
from tests.zoo import test_zoo


def dense(robot: Mechanism, q: Floats) -> Floats:
    J = lw.constraint_jacobian(robot, q)
    return np.asarray(J @ np.linalg.solve(lw.mass_matrix(robot, q), J.T))


@cache
def quadruped() -> Mechanism:
    return lw.zoo.quadruped_standing(True)


# Rows --------------------------------------------------------------------------------------------------------


def rows_of(robot: Mechanism, names: list[str]) -> list[int]:
    """Where constraints stand among all, in the order of the robot."""
    return [k for c in robot.constraints if c.name in names for k in range(robot.nc)[robot.row_slice(c.name)]]


SOME = {
    "two feet": (quadruped, ["contact2", "contact0"]),
    "a foot and friction": (quadruped, [quadruped().constraints[-1].name, "contact1"]),
    "one loop of three": (partial(test_zoo.made, "jansen"), [test_zoo.made("jansen").constraints[1].name]),
    "some boxes": (
        partial(test_zoo.made, "stack of 3"),
        [c.name for c in test_zoo.made("stack of 3").constraints[2:7]],
    ),
    "one of two centers of mass": (partial(linkages.made, "center of mass"), ["c"]),
}


@pytest.mark.parametrize("method", [name for name in METHODS if name != "cluster_efpa"])
@pytest.mark.parametrize("which", SOME)
def test_some_rows_are_a_part_of_the_matrix(which: str, method: str) -> None:
    make, names = SOME[which]
    robot = make()
    q, kept = robot.random(0), rows_of(robot, names)
    if method == "pv_osim_fast" and which not in ("two feet", "a foot and friction"):
        return
    op = Delassus(robot, method, names).at(q)
    part = dense(robot, q)[np.ix_(kept, kept)]
    assert op.shape == (len(kept), len(kept)) and 0 < len(kept) < robot.nc
    assert_close(op.toarray(), part, 1e-10, scale=float(np.abs(dense(robot, q)).max()))
    x = np.random.default_rng(1).normal(size=len(kept))
    assert_close(op.damped_inverse(0.1) @ x, np.linalg.solve(part + 0.1 * np.eye(len(kept)), x), 1e-9)
    assert_close(op.error, lw.constraint_error(robot, q)[kept], 1e-12, scale=1.0)


def test_one_constraint_may_be_named_by_itself() -> None:
    q = quadruped().random(0)
    assert_close(Delassus(quadruped(), rows="contact1").at(q).toarray(), dense(quadruped(), q)[3:6, 3:6], 1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_constraints_that_are_switched_off_are_left_out(method: str) -> None:
    whole = lw.zoo.quadruped_standing()
    q, kept = whole.random(0), [0, 1, 2, 6, 7, 8, 9, 10, 11]
    robot = whole.switched({"contact1": False})
    for rows in (None, [c.name for c in whole.constraints]):
        op = Delassus(robot, method, rows).at(q)
        assert [c.name for c in op.robot.constraints] == ["contact0", "contact2", "contact3"]
        assert_close(op.toarray(), dense(whole, q)[np.ix_(kept, kept)], 1e-10)
    family = Delassus(robot, method)
    x = np.random.default_rng(0).normal(size=9)
    assert_close(family.product(q, x), dense(whole, q)[np.ix_(kept, kept)] @ x, 1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_a_robot_without_rows_is_refused(method: str) -> None:
    chain, robot = lw.zoo.serial_chain(3), lw.zoo.quadruped_standing()
    off = robot.switched({c.name: False for c in robot.constraints})
    for given, rows in ((chain, None), (off, None), (off, ["contact0"]), (robot, [])):
        with pytest.raises(lw.errors.UnsupportedFeature, match="no enabled constraint"):
            Delassus(given, method, rows)


# Wrong calls -------------------------------------------------------------------------------------------------


def made(method: str = "matrix_free") -> Delassus:
    return Delassus(quadruped(), method)


BAD_FAMILIES: dict[str, tuple[Callable[[], object], str]] = {
    "a name of a robot": (lambda: Delassus("quadruped"), "robot is str, needs a Mechanism"),  # type: ignore[arg-type]
    "an unknown method": (lambda: made("cholesky"), r"no method 'cholesky'.*matrix_free.*pv_osim"),
    "no method": (lambda: Delassus(quadruped(), None), "no method None"),  # type: ignore[arg-type]
    "several methods": (lambda: Delassus(quadruped(), ["ltl"]), "no method"),  # type: ignore[arg-type]
    "an unknown constraint": (lambda: Delassus(quadruped(), rows=["contact9"]), "no constraint 'contact9'"),
    "a number of rows": (lambda: Delassus(quadruped(), rows=3), "rows"),  # type: ignore[arg-type]
    "numbers of rows": (lambda: Delassus(quadruped(), rows=[3]), "names of constraints"),  # type: ignore[list-item]
    "no threads": (lambda: Delassus(quadruped(), threads=0), "threads is 0"),
}


@pytest.mark.parametrize("call", BAD_FAMILIES)
def test_bad_calls_of_the_family_say_so(call: str) -> None:
    make, message = BAD_FAMILIES[call]
    with pytest.raises(lw.errors.InputError, match=message):
        make()


def test_methods_that_cannot_serve_say_why() -> None:
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"pv_osim_fast cannot serve.*no floating base.*use pv_osim"):
        Delassus(lw.zoo.four_bar(), "pv_osim_fast")
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"pv_osim_fast cannot serve.*or several"):
        Delassus(lw.zoo.stack(2), "pv_osim_fast")
    with pytest.raises(lw.errors.UnsupportedFeature, match=r"cluster_efpa cannot serve.*JointLock"):
        Delassus(quadruped(), "cluster_efpa", [c.name for c in quadruped().constraints]).at(quadruped().neutral())


Q = quadruped().poses["assembled"]
NAN = np.where(np.arange(len(Q)) == 8, np.nan, Q)
LOST = np.concatenate([Q[:3], np.zeros(4), Q[7:]])

BAD_POSES: dict[str, tuple[Any, str]] = {
    "too short": (Q[:-1], r"q has 18 numbers, robot .* needs 19"),
    "several": (np.stack([Q, Q]), r"q has shape \(2, 19\)"),
    "one, in a batch": (Q[None], r"q has shape \(1, 19\)"),
    "a number": (1.0, "q has shape"),
    "words": ("standing", "q is 'standing', needs numbers"),
    "complex": (Q + 1j, "q has dtype"),
    "NaN": (NAN, "q holds NaN at index 8"),
    "infinity": (np.where(np.isnan(NAN), np.inf, Q), "q holds infinity at index 8"),
    "no direction": (LOST, r"q\[3:7\] is a quaternion of zero length"),
}


@pytest.mark.parametrize("method", ["matrix_free", "ltl", "pv_osim_fast"])
@pytest.mark.parametrize("which", BAD_POSES)
def test_bad_configurations_say_so(which: str, method: str) -> None:
    q, message = BAD_POSES[which]
    with pytest.raises(lw.errors.InputError, match=message):
        made(method).at(q)


ROWS = quadruped().nc
BAD_DAMPINGS: dict[str, Any] = {
    "zero": 0.0,
    "negative": -1e-3,
    "NaN": np.nan,
    "infinite": np.inf,
    "one row of zero": np.where(np.arange(ROWS) == 3, 0.0, 1.0),
    "one row of NaN": np.where(np.arange(ROWS) == 3, np.nan, 1.0),
    "too many": np.ones(ROWS + 1),
    "one, as an array": np.ones(1),
    "none": np.ones(0),
    "a matrix": np.eye(ROWS) + 1.0,
    "words": "soft",
    "complex": 1.0 + 1j,
    "a flag": True,
}


@pytest.mark.parametrize("method", ["matrix_free", "ltl", "prox_ltl", "pv_osim_fast"])
@pytest.mark.parametrize("which", BAD_DAMPINGS)
def test_bad_dampings_say_so(which: str, method: str) -> None:
    op, R = made(method).at(Q), BAD_DAMPINGS[which]
    good = op.damped_inverse(1.0)
    for call in (op.damped_inverse, good.with_damping):
        with pytest.raises(lw.errors.InputError, match="damping"):
            call(R)
    if which != "a matrix":
        with pytest.raises(lw.errors.InputError, match="damping"):
            made(method).inverse(Q, np.ones(ROWS), R)


@pytest.mark.parametrize("which", [name for name in BAD_DAMPINGS if "zero" not in name])
def test_bad_dampings_of_preconditioners_say_so(which: str) -> None:
    with pytest.raises(lw.errors.InputError, match="damping"):
        made().at(Q).preconditioner(BAD_DAMPINGS[which])


@pytest.mark.parametrize("method", METHODS)
def test_vectors_that_are_not_finite_say_so(method: str) -> None:
    robot = lw.zoo.quadruped_standing()
    op = Delassus(robot, method).at(robot.poses["assembled"])
    for bad in (np.nan, np.inf):
        x = np.where(np.arange(robot.nc) == 5, bad, 1.0)
        for product in (op, op.response, op.damped_inverse(0.1), op.jacobian.T):
            with pytest.raises(lw.errors.InputError, match=r"(forces|accelerations) holds (NaN|infinity) at index 5"):
                product @ x
        with pytest.raises(lw.errors.InputError, match=r"torques holds"):
            op.inverse_mass @ np.full(robot.nv, bad)
        with pytest.raises(lw.errors.InputError, match=r"motion holds"):
            op.jacobian @ np.full(robot.nv, bad)
    assert np.isfinite(op @ np.ones(robot.nc)).all()  # and it goes on


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": 0.0}, "tolerance is 0.0"),
        ({"tolerance": np.nan}, "tolerance is nan"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"max_iterations": 2.5}, "max_iterations is 2.5"),
    ],
)
def test_bad_settings_of_eigenvalues_say_so(options: dict[str, Any], message: str) -> None:
    with pytest.raises(lw.errors.InputError, match=message):
        made().at(Q).largest_eigenvalue(**options)


def test_batches_that_do_not_fit_say_so() -> None:
    family = made()
    with pytest.raises(lw.errors.InputError, match=f"forces has {ROWS - 1} numbers"):
        family.product(Q, np.ones(ROWS - 1))
    with pytest.raises(lw.errors.InputError, match=r"leading axes do not broadcast: q \(2,\), forces \(3,\)"):
        family.product(np.stack([Q, Q]), np.ones((3, ROWS)))
    with pytest.raises(lw.errors.InputError, match="accelerations holds NaN"):
        family.inverse(Q, np.full(ROWS, np.nan), 1.0)
    with pytest.raises(lw.errors.InputError, match="q has 18 numbers"):
        family.matrix(Q[:-1])  # type: ignore[operator]


# Batches, and the three ways ---------------------------------------------------------------------------------


WAYS: dict[str, Callable[[], Mechanism]] = {"quadruped": lw.zoo.quadruped_standing, "four-bar": lw.zoo.four_bar}


def batch(robot: Mechanism) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(2)
    q = np.array([robot.random(rng) for _ in range(6)]).reshape(3, 2, robot.nq)
    return q, rng.normal(size=(3, 2, robot.nc)), 10 ** rng.uniform(-2, 2, size=(3, 2, robot.nc))


@pytest.mark.parametrize("make", [quadruped, lw.zoo.four_bar, partial(test_zoo.made, "chain of 5 loops")])
def test_batches_are_many_single_ones(make: Callable[[], Mechanism]) -> None:
    robot = make()
    family, (q, x, R) = Delassus(robot), batch(robot)
    products, inverses, matrices = family.product(q, x), family.inverse(q, x, R), family.matrix(q)
    same = family.product(q, x[0, 0]), family.inverse(q, x[:, :1], 0.5), family.inverse(q[0, 0], x, R[0, 0])
    assert products.shape == inverses.shape == x.shape and matrices.shape == (*x.shape, robot.nc)
    for k in np.ndindex(3, 2):
        op = family.at(q[k])
        assert_close(products[k], op @ x[k], 1e-12)
        assert_close(inverses[k], op.damped_inverse(R[k]) @ x[k], 1e-12)
        assert_close(matrices[k], op.toarray(), 1e-12)
        assert_close(same[0][k], op @ x[0, 0], 1e-12)
        assert_close(same[1][k], op.damped_inverse(0.5) @ x[k[0], 0], 1e-12)
        assert_close(same[2][k], family.at(q[0, 0]).damped_inverse(R[0, 0]) @ x[k], 1e-12)
    assert family.product(q[:0], x[:0]).shape == (0, 2, robot.nc)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "matrix_free"])
def test_matrices_come_in_batches(method: str) -> None:
    robot = lw.zoo.quadruped_standing()
    family, (q, _, R) = Delassus(robot, method), batch(robot)
    matrices, inverses = family.matrix(q), family.inverse_matrix(q, R)
    assert matrices.shape == inverses.shape == (3, 2, robot.nc, robot.nc)
    for k in np.ndindex(3, 2):
        D = dense(robot, q[k])
        assert_close(matrices[k], D, 1e-10)
        assert_close(inverses[k], np.linalg.inv(D + np.diag(R[k])), 1e-9)


@pytest.mark.parametrize("name", WAYS)
def test_the_three_ways_agree(name: str) -> None:
    robot = WAYS[name]()
    native, (q, x, R) = Delassus(robot), batch(robot)
    compiled, single = native.compile(threads=1), native.compile(dtype="float32", threads=1)
    assert compiled.product.backend == compiled.inverse.backend == "specialized" and native.product.backend == "native"
    for way in (compiled, native):
        for some in (np.s_[...], np.s_[0, 0]):
            assert_close(way.product(q[some], x[some]), native.product(q[some], x[some]), 1e-12)
            assert_close(way.inverse(q[some], x[some], R[some]), native.inverse(q[some], x[some], R[some]), 1e-12)
    assert_close(native.product.plain()(q[0], x[0]), native.product(q[0], x[0]), 1e-12)
    assert_close(native.inverse.plain()(q[0], x[0], R[0]), native.inverse(q[0], x[0], R[0]), 1e-12)
    assert single.product(q, x).dtype == single.inverse(q, x, R).dtype == np.float32
    assert_close(single.product(q, x), native.product(q, x), 1e-3)
    assert_close(single.inverse(q, x, R), native.inverse(q, x, R), 1e-3)
    assert_close(compiled.at(q[0, 0]) @ x[0, 0], native.product(q, x)[0, 0], 1e-12)


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("matrix_free", "cluster_efpa")])
def test_matrices_by_the_plain_text(method: str) -> None:
    robot = lw.zoo.quadruped_standing()
    matrix = Delassus(robot, method).matrix
    q = robot.random(0)
    assert_close(matrix.plain()(q), matrix(q), 1e-12)  # type: ignore[attr-defined]


# Bound arrays --------------------------------------------------------------------------------------------------


def test_bound_products_follow_their_arrays() -> None:
    op, rng = made().at(Q), np.random.default_rng(3)
    x, out, a, forces, R = (np.zeros(ROWS) for _ in range(5))
    inverse = op.damped_inverse(1e-3)
    product, solve, damped = op.bind(x, out), inverse.bind(a, forces), np.zeros(ROWS)  # type: ignore[attr-defined]
    both = op.bind_damped_inverse(R, a, damped)  # type: ignore[attr-defined]
    for _ in range(3):
        x[:], a[:], R[:] = rng.normal(size=ROWS), rng.normal(size=ROWS), 10 ** rng.uniform(-3, 3, size=ROWS)
        product()
        solve()
        both()
        assert (out == op @ x).all()
        assert (forces == inverse @ a).all()
        assert (damped == op.damped_inverse(R) @ a).all()
        assert (inverse @ a == op.damped_inverse(1e-3) @ a).all()  # nothing else has changed


def test_bound_products_outlive_their_operators() -> None:
    family, rng = made(), np.random.default_rng(4)
    op, x, R, out = family.at(Q), rng.normal(size=ROWS), np.ones(ROWS), np.zeros((3, ROWS))
    inverse = op.damped_inverse(0.1)
    expected = op @ x, inverse @ x, op.damped_inverse(R) @ x
    steps = (
        op.bind(x, out[0]),  # type: ignore[attr-defined]
        inverse.bind(x, out[1]),  # type: ignore[attr-defined]
        op.bind_damped_inverse(R, x, out[2]),  # type: ignore[attr-defined]
    )
    del op, inverse
    gc.collect()
    for _ in range(5):
        other = family.at(quadruped().random(rng))
        other.damped_inverse(3.0)
    for k, step in enumerate(steps):
        step()
        assert (out[k] == expected[k]).all()


GOOD = np.ones(ROWS)
UNWRITABLE = np.ones(ROWS)
UNWRITABLE.flags.writeable = False
BAD_ARRAYS: dict[str, tuple[Any, Any]] = {
    "a list": (GOOD.tolist(), GOOD.copy()),
    "single precision": (GOOD.astype(np.float32), GOOD.copy()),
    "whole numbers": (GOOD.astype(int), GOOD.copy()),
    "too long": (np.ones(ROWS + 1), GOOD.copy()),
    "strided": (np.ones(2 * ROWS)[::2], GOOD.copy()),
    "a number": (np.array(1.0), GOOD.copy()),
    "a result of another size": (GOOD, np.ones(ROWS - 1)),
    "a strided result": (GOOD, np.ones((ROWS, 2))[:, 0]),
    "a result to read only": (GOOD, UNWRITABLE),
    "a result that is no array": (GOOD, None),
}


@pytest.mark.parametrize("which", BAD_ARRAYS)
def test_arrays_that_cannot_be_bound_say_so(which: str) -> None:
    (x, out), op = BAD_ARRAYS[which], made().at(Q)
    for bind in (op.bind, op.damped_inverse(1.0).bind, partial(op.bind_damped_inverse, GOOD)):  # type: ignore
        with pytest.raises(lw.errors.InputError, match=r"bind: (forces|accelerations|out) needs"):
            bind(x, out)
    if "result" not in which:
        with pytest.raises(lw.errors.InputError, match="bind: damping needs"):
            op.bind_damped_inverse(x, GOOD, out)  # type: ignore[attr-defined]


@pytest.mark.parametrize("shapes", [((2, ROWS), (2, ROWS)), ((2, ROWS), (ROWS,)), ((ROWS,), (2, ROWS))])
def test_bound_batches_are_right_or_refused(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    op, x, out = made().at(Q), np.random.default_rng(5).normal(size=shapes[0]), np.zeros(shapes[1])
    inverse = op.damped_inverse(1.0)
    for owner in (op, inverse):
        try:
            step = owner.bind(x, out)  # type: ignore[attr-defined]
        except lw.errors.InputError as refused:
            assert "bind" in str(refused)
            continue
        step()
        assert (out == (owner @ x.T).T).all()


def test_results_bound_to_what_they_are_made_of_are_right_or_refused() -> None:
    op, start = made().at(Q), np.random.default_rng(6).normal(size=ROWS)
    inverse, R = op.damped_inverse(1e-8), np.full(ROWS, 1e-8)
    for bind, expected in (
        (op.bind, op @ start),  # type: ignore[attr-defined]
        (inverse.bind, inverse @ start),  # type: ignore[attr-defined]
        (partial(op.bind_damped_inverse, R), inverse @ start),  # type: ignore[attr-defined]
    ):
        x = start.copy()
        try:
            step = bind(x, x)
        except lw.errors.InputError as refused:
            assert "memory" in str(refused)
            continue
        step()
        assert (x == expected).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bound_numbers_that_are_not_finite_say_so(bad: float) -> None:
    op, x, out, R = made().at(Q), np.ones(ROWS), np.zeros(ROWS), np.ones(ROWS)
    product, both = op.bind(x, out), op.bind_damped_inverse(R, np.ones(ROWS), out)  # type: ignore[attr-defined]
    x[2] = R[2] = bad
    with pytest.raises(lw.errors.InputError, match="forces holds"):
        product()
    with pytest.raises(lw.errors.InputError, match="damping holds"):
        both()


@pytest.mark.parametrize("damping", [0.0, -1.0])
def test_a_bound_damping_that_is_not_above_zero_says_so(damping: float) -> None:
    op, out, R = made().at(Q), np.zeros(ROWS), np.ones(ROWS)
    step = op.bind_damped_inverse(R, np.ones(ROWS), out)  # type: ignore[attr-defined]
    R[3] = damping
    with pytest.raises(lw.errors.InputError):
        step()


# Costs -----------------------------------------------------------------------------------------------------------


def test_memory_is_linear() -> None:
    few, more, most = (Delassus(lw.zoo.stack(n)).memory for n in (20, 40, 60))
    for part in ("operator", "damped_inverse"):
        assert more[part] - few[part] == most[part] - more[part] > 0


def test_memory_of_the_pyramid() -> None:
    """Its matrix has 6 MB."""
    robot = lw.zoo.pyramid(4)
    assert 8 * robot.nc**2 > 5e6
    assert all(0 < size < 1_000_000 for size in Delassus(robot).memory.values())


@pytest.mark.parametrize("part", ["product", "inverse"])
def test_operations_are_linear(part: str) -> None:
    def operations(links: int) -> int:
        return int(getattr(Delassus(lw.zoo.swimmer(links)), part).operation_count().total)

    few, more, most = operations(10), operations(20), operations(40)
    assert most - more == 2 * (more - few) > 0


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("matrix_free", "cluster_efpa")])
def test_operations_of_every_method_are_counted(method: str) -> None:
    assert Delassus(lw.zoo.quadruped_standing(), method).matrix.operation_count().total > 0  # type: ignore


def test_rows_handed_down_cost_less_than_inverse_inertias_handed_up() -> None:
    """A humanoid held at hands and feet, 24 rows."""
    robot = lw.zoo.small_humanoid()
    held = ("left_hand", "right_hand", "left_ankle_roll", "right_ankle_roll")
    robot = robot.constrained(
        *(lw.constraints.Weld(body, "world", name=body) for body in held), at=robot.poses["standing"]
    )
    cost = {m: Delassus(robot, m).matrix.operation_count().total for m in ("pv_osim", "efpa", "ltl")}  # type: ignore
    assert robot.nc == 24 and cost["pv_osim"] < cost["efpa"] < cost["ltl"]

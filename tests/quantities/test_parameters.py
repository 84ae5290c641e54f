# SPDX-License-Identifier: BSD-3-Clause
"""Parameters as inputs: results are those of a robot rebuilt with the given values, in every row of a batch."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.compilers import native
from linkwork.compilers.lanes import Type
from linkwork.dynamics.iterations import row_regularization
from linkwork.errors import KernelError
from linkwork.inputs import ParameterName
from linkwork.kernels.algorithm import Algorithm
from linkwork.kernels.scalar import kernel, with_arrays
from linkwork.mechanism import Mechanism
from linkwork.model.inertial_parameters import six_of
from linkwork.model.parameters import PARAMETERS, check_rotational
from linkwork.plans.tree import TREE
from tests.support import linkages

pytestmark = pytest.mark.filterwarnings("ignore::linkwork.errors.StateWarning")

OF_TREES = (("com",), ("mass", "com", "inertia"), ("inertial_parameters",), ("armature", "gravity"))
OF_TREES += (("mass", "joint_position"),)
OF_LOOPS = (("anchor_position",), ("length",), ("gains",), ("joint_position", "anchor_position", "inertial_parameters"))


def others(robot: Mechanism, names: tuple[str, ...], seed: int = 0) -> dict[str, Any]:
    """Values that some robot could have, unlike those of this one."""
    rng, values = np.random.default_rng(seed), {}
    for name in names:
        own = robot.parameters[name]  # type: ignore[index]
        if name == "inertia":
            values[name] = own * rng.uniform(0.5, 2.0, (len(own), 1))
        elif name == "inertial_parameters":
            made = robot.with_parameters(**others(robot, ("mass", "com", "inertia"), seed))
            values[name] = made.parameters["inertial_parameters"]
        elif name in ("mass", "length"):
            values[name] = own * rng.uniform(0.5, 2.0, own.shape)
        elif PARAMETERS[name].check is not None:
            values[name] = own + rng.uniform(0.1, 1.0, own.shape)
        else:
            values[name] = own + 0.2 * rng.normal(size=own.shape)
    return values


def state(robot: Mechanism, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    return robot.random(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def assert_close(x: Any, y: Any, tolerance: float = 1e-11) -> None:
    """Equal as a part of the largest number."""
    np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, float(np.abs(y).max(initial=0.0))))


@pytest.mark.parametrize("names", OF_TREES, ids="+".join)
def test_trees_with_other_values_are_those_of_a_rebuilt_robot(names: tuple[ParameterName, ...]) -> None:
    for seed in range(2):
        robot = lw.zoo.random_tree(seed, 6)
        q, v, tau = state(robot, seed)
        values = others(robot, names, seed)
        other = robot.with_parameters(**values)
        forward = lw.ForwardDynamics(robot, parameters=names).plain()
        assert_close(forward(q, v, tau).acceleration, lw.ForwardDynamics(robot).plain()(q, v, tau).acceleration, 1e-10)
        assert_close(
            forward(q, v, tau, **values).acceleration, lw.ForwardDynamics(other).plain()(q, v, tau).acceleration, 1e-10
        )
        inverse = lw.InverseDynamics(robot, "rnea", parameters=names).plain()
        assert_close(inverse(q, v, tau, **values), lw.InverseDynamics(other, "rnea").plain()(q, v, tau))


@pytest.mark.parametrize(
    "quantity", ["mass_matrix", "center_of_mass", "centroidal_momentum", "energy", "frame_jacobian"]
)
def test_quantities_with_other_values_are_those_of_a_rebuilt_robot(quantity: Any) -> None:
    robot = lw.zoo.random_tree(5, 6)
    q, v, _ = state(robot)
    names: tuple[ParameterName, ...] = ("inertial_parameters", "armature", "gravity", "joint_position")
    values = others(robot, names)
    frames = ["frame5"] if quantity == "frame_jacobian" else []
    inputs = (q,) if quantity in ("mass_matrix", "center_of_mass", "frame_jacobian") else (q, v)
    found = lw.Evaluator(robot, quantity, frames, parameters=names).plain()(*inputs, **values)
    wanted = lw.Evaluator(robot.with_parameters(**values), quantity, frames).plain()(*inputs)
    for x, y in zip(np.atleast_1d(found), np.atleast_1d(wanted), strict=True):
        assert_close(x, y)


@pytest.mark.parametrize("names", [*OF_LOOPS, ("inertial_parameters",)], ids="+".join)
@pytest.mark.parametrize("method", ["prox_bbo", "lcaba"])
def test_loops_with_other_values_are_those_of_a_rebuilt_robot(method: Any, names: tuple[ParameterName, ...]) -> None:
    kinds = ["Weld", "Hinge", "Slider", "Cardan", "Point", "Rod", "Rolling", "PointOnPlane"]
    for seed in range(2):
        chosen = ["Rod", "Rolling"] if "length" in names else kinds
        robot = lw.zoo.random_loops(seed, 5, 2, constraints=chosen)
        if any(not len(PARAMETERS[name].rows(robot)) for name in names):
            continue
        q, v, tau = state(robot, seed)
        values = others(robot, names, seed)
        forward = lw.ForwardDynamics(robot, method, parameters=names).plain()
        rebuilt = lw.ForwardDynamics(robot.with_parameters(**values), method).plain()
        # off the loops, random rows contradict each other: they are weighed by the scales of the robot
        wanted = rebuilt(q, v, tau, regularization=row_regularization(robot, forward.solver.regularization, "float64"))
        assert_close(forward(q, v, tau, **values).acceleration, wanted.acceleration, 1e-6)


def test_every_row_of_a_batch_has_a_robot_of_its_own_on_all_backends() -> None:
    robot = lw.zoo.random_tree(1, 4, "rps")
    names: tuple[ParameterName, ...] = ("inertial_parameters", "gravity")
    count = 11
    states = [state(robot, k) for k in range(count)]
    q, v, tau = (np.stack(part) for part in zip(*states, strict=True))
    values = [others(robot, names, k) for k in range(count)]
    batch = {name: np.stack([one[name] for one in values]) for name in names}
    wanted = np.stack(
        [
            lw.ForwardDynamics(robot.with_parameters(**one)).plain()(*at).acceleration
            for one, at in zip(values, states, strict=True)
        ]
    )
    forward = lw.ForwardDynamics(robot, parameters=names, threads=1)
    for made in (forward, forward.compile(threads=1)):
        assert_close(made(q, v, tau, **batch).acceleration, wanted, 1e-10)
        assert_close(made(q[3], v[3], tau[3], **values[3]).acceleration, wanted[3], 1e-10)
        shared = made(q, v, tau, inertial_parameters=batch["inertial_parameters"][2], gravity=batch["gravity"][2])
        assert_close(shared.acceleration[2], wanted[2], 1e-10)
        out = np.empty((count, robot.nv))
        made.bind(q, v, tau, out=out, **batch)()
        assert_close(out, wanted, 1e-10)
    single = [x.astype(np.float32) for x in (q, v, tau)]
    rough = forward.compile(dtype="float32")(*single, **{name: x.astype(np.float32) for name, x in batch.items()})
    assert rough.acceleration.dtype == np.float32
    assert_close(rough.acceleration, wanted, 1e-3)
    assert_close(
        pickle.loads(pickle.dumps(forward.plain().with_parameters(**values[4])))(q[4], v[4], tau[4]).acceleration,
        wanted[4],
    )


def test_parameters_of_some_bodies_alone() -> None:
    robot = lw.zoo.random_tree(2, 6)
    q, v, tau = state(robot)
    forward = lw.ForwardDynamics(robot, parameters={"mass": ["body4", "body1"], "armature": ["joint2"]}).plain()
    assert forward.parameters["mass"].shape == (2,)
    mass, armature = robot.parameters["mass"].copy(), robot.parameters["armature"].copy()
    rows = [robot.body_names.index(name) for name in ("body4", "body1")]
    mass[rows], armature[robot.v_slice("joint2")] = (7.0, 5.0), 0.7
    other = robot.with_parameters(mass=mass, armature=armature)
    given = np.full(robot.joint("joint2").type.nv, 0.7)
    found = forward(q, v, tau, mass=[7.0, 5.0], armature=given).acceleration
    assert_close(found, lw.ForwardDynamics(other).plain()(q, v, tau).acceleration, 1e-10)
    chain = lw.zoo.serial_chain(20)
    whole, one = (lw.ForwardDynamics(chain, parameters=p) for p in (["mass"], {"mass": [chain.body_names[-1]]}))
    own = lw.ForwardDynamics(chain).operation_count().total
    assert one.operation_count().total < own + 100 < whole.operation_count().total


def test_scales_of_the_robot_do_for_masses_a_hundred_times_larger() -> None:
    robot = linkages.made("five-bar")
    q = robot.assemble(robot.neutral())
    v, tau = robot.project_velocity(q, np.ones(robot.nv)), np.arange(1.0, 1.0 + robot.nv)
    for factor in (0.01, 100.0):
        heavy = robot.parameters["inertial_parameters"] * factor
        for method in ("prox_bbo", "lcaba"):
            forward = lw.ForwardDynamics(robot, method, parameters=["inertial_parameters"]).plain()  # type: ignore[arg-type]
            solution = forward(q, v, tau, inertial_parameters=heavy)
            other = lw.ForwardDynamics(robot.with_parameters(inertial_parameters=heavy), method)  # type: ignore[arg-type]
            wanted = other.plain()(q, v, tau)
            assert solution.converged and solution.iterations <= wanted.iterations + 1
            assert_close(solution.acceleration, wanted.acceleration, 1e-9)


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_steps_with_other_values_are_those_of_a_rebuilt_robot(integrator: Any) -> None:
    robot = lw.zoo.random_tree(3, 3, "rpu").with_actuators()
    robot = robot.with_actuators(*(j.name for j in robot.joints if j.type.nv == 1))
    names: tuple[ParameterName, ...] = (
        "mass",
        "damping",
        "stiffness",
        "rest",
        "armature",
        "actuator_gain",
        "actuator_bias",
    )
    values = others(robot, names)
    q, v, tau = state(robot)
    u = np.ones(len(robot.actuators))
    step = lw.Stepper(robot, integrator=integrator, limits=False, parameters=names).plain()
    for given, other in ((values, robot.with_parameters(**values)), ({}, robot)):
        found = step(q, v, tau, steps=2, commands=u, **given)  # type: ignore[arg-type]
        wanted = lw.Stepper(other, integrator=integrator, limits=False).plain()(q, v, tau, steps=2, commands=u)
        assert_close(found.q, wanted.q)
        assert_close(found.v, wanted.v)


def test_rollouts_have_a_robot_of_their_own_in_every_row() -> None:
    robot = lw.zoo.pendulum(2)
    q = robot.random(0, 6)
    rng = np.random.default_rng(0)
    mass, damping = rng.uniform(0.5, 2.0, (6, 2)), rng.uniform(0.0, 1.0, (6, 2))
    runs = lw.rollouts(robot, q, seconds=0.0205, parameters={"mass": mass, "damping": damping}, compile=False)
    for k in range(6):
        other = robot.with_parameters(mass=mass[k], damping=damping[k])
        step, short = lw.Stepper(other).plain(), lw.Stepper(other, dt=5e-4).plain()
        before = step(q[k], np.zeros(2), steps=20)
        assert_close(runs.q[-1, k], short(before.q, before.v).q, 1e-12)


def test_contact_steps_with_other_values_are_those_of_a_rebuilt_robot() -> None:
    robot = lw.zoo.sliding_box()
    q, v = robot.poses["assembled"] if "assembled" in robot.poses else robot.neutral(), np.full(robot.nv, 0.1)
    names: tuple[ParameterName, ...] = ("contact_friction", "mass", "friction")
    values = {"contact_friction": [0.1], "mass": [3.0], "friction": np.full(robot.nv, 0.2)}
    step = lw.contact.ContactStep(robot, parameters=names).plain()
    wanted = lw.contact.ContactStep(robot.with_parameters(**values)).plain()(q, v).v
    assert_close(step(q, v, **values).v, wanted, 1e-6)
    assert np.abs(step(q, v).v - wanted).max() > 1e-3


def test_programs_of_steps_with_contacts_take_parameters() -> None:
    robot = lw.zoo.sliding_box()
    names: tuple[ParameterName, ...] = ("contact_friction", "mass", "damping")
    stepper = lw.Stepper(robot, parameters=names)
    rng = np.random.default_rng(0)
    q, v = np.tile(robot.poses["assembled"], (3, 1)), rng.normal(size=(3, robot.nv))
    values = {
        "contact_friction": rng.uniform(0.1, 1.0, (3, 1)),
        "mass": rng.uniform(1.0, 3.0, (3, 1)),
        "damping": np.full(robot.nv, 0.3),
    }
    made, plain = stepper.compile()(q, v, steps=2, **values), stepper.by_slots.plain()
    for k in range(3):
        own = {name: x[k] if x.ndim > 1 else x for name, x in values.items()}
        wanted = plain(q[k], v[k], steps=2, **own)
        assert_close(made.q[k], wanted.q, 1e-10)
        assert_close(made.v[k], wanted.v, 1e-10)


def test_gradients_by_parameters() -> None:
    robot = lw.zoo.pendulum(2)
    q, v, tau = state(robot)
    y = np.array([0.3, -1.2])
    # torques are linear in inertial parameters, and affine with armature
    inverse = lw.InverseDynamics(robot, "rnea", parameters=["inertial_parameters", "armature"])
    parameters = others(robot, ("inertial_parameters", "armature"))
    *_, by_inertial, by_armature = inverse.vjp(q, v, tau, y, **parameters)
    linear = (by_inertial * parameters["inertial_parameters"]).sum() + by_armature @ parameters["armature"]
    assert_close(linear, y @ inverse(q, v, tau, **parameters))
    # a small change of masses and lengths
    names: tuple[ParameterName, ...] = ("mass", "joint_position")
    forward = lw.ForwardDynamics(robot, parameters=names)
    own = forward.parameters
    gradient = dict(zip(names, forward.vjp(q, v, tau, y)[-2:], strict=True))
    for name in names:
        direction = np.random.default_rng(1).normal(size=own[name].shape)
        moved = [y @ forward(q, v, tau, **{name: own[name] + h * direction}).acceleration for h in (1e-5, -1e-5)]
        assert_close((moved[0] - moved[1]) / 2e-5, (gradient[name] * direction).sum(), 1e-8)
        rate = forward.jvp(q, v, tau, *np.zeros((3, 2)), **{f"d{name}": direction})
        assert_close(y @ rate, (gradient[name] * direction).sum())


def test_gradients_of_loops_by_masses_and_link_lengths() -> None:
    robot = linkages.made("five-bar")
    q = robot.assemble([0.9, 1.2, 2.2, -1.2])
    v, tau, y = robot.project_velocity(q, np.ones(robot.nv)), np.arange(1.0, 5.0), np.array([0.3, -1.2, 0.7, 0.4])
    names: tuple[ParameterName, ...] = ("mass", "joint_position", "anchor_position", "gains")
    forward = lw.ForwardDynamics(robot, "prox_bbo", parameters=names).plain()
    own = {**forward.parameters, "gains": np.array([[5.0, 2.0]])}
    gradient = dict(zip(names, forward.vjp(q, v, tau, y, **own)[-4:], strict=True))
    for name in names:
        direction = np.random.default_rng(1).normal(size=own[name].shape)
        moved = [own | {name: own[name] + h * direction} for h in (1e-5, -1e-5)]
        ends = [y @ forward(q, v, tau, **given).acceleration for given in moved]
        assert_close((ends[0] - ends[1]) / 2e-5, (gradient[name] * direction).sum(), 1e-7)


def test_jacobians_are_those_of_a_rebuilt_robot() -> None:
    tree, loops = lw.zoo.random_tree(4, 4), linkages.made("five-bar")
    for robot, names in ((tree, ("inertial_parameters", "joint_position")), (loops, ("mass", "gains"))):
        q, v, tau = state(robot)
        values = others(robot, names)
        found = lw.ForwardDynamics(robot, parameters=names).plain().derivatives(q, v, tau, **values)
        wanted = lw.ForwardDynamics(robot.with_parameters(**values)).plain().derivatives(q, v, tau)
        for field in ("da_dq", "da_dv", "da_dtau"):
            assert_close(getattr(found, field), getattr(wanted, field), 1e-9)
    values = others(tree, ("mass", "damping"))
    step = lw.Stepper(tree, limits=False, parameters=["mass", "damping"]).plain()
    rebuilt = lw.Stepper(tree.with_parameters(**values), limits=False).plain()
    q, v, tau = state(tree)
    assert_close(step.derivatives(q, v, tau, **values).A, rebuilt.derivatives(q, v, tau).A, 1e-10)


def test_parameters_are_arguments_of_exported_c(tmp_path: Path) -> None:
    robot = linkages.made("four-bar")
    made = lw.export.export_c(
        lw.ForwardDynamics(robot, "prox_bbo", parameters=["mass", "inertia"]), tmp_path / "forward.c"
    )
    assert made.inputs == {"q": 3, "v": 3, "tau": 3, "mass": 3, "inertia": 18}
    assert "of bodies about their centers of mass" in made.header.read_text()


def test_inertias_that_no_mass_has_are_refused() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        axes, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        moments = np.sort(rng.uniform(-0.2, 1.0, 3))
        possible = moments[0] > 0 and moments[0] + moments[1] > moments[2]
        if min(abs(moments[0]), abs(moments[0] + moments[1] - moments[2])) < 1e-3:
            continue
        six = six_of(axes @ np.diag(moments) @ axes.T)
        if possible:
            check_rotational(six, "I")
        else:
            with pytest.raises(lw.errors.InputError, match="no distribution of mass"):
                check_rotational(six, "I")


def test_mistakes_are_told() -> None:
    robot = lw.zoo.pendulum(2)
    q, v, tau = state(robot)
    forward = lw.ForwardDynamics(robot, parameters=["mass", "inertia"])
    bad: list[tuple[str, Any]] = [
        ("did you mean 'mass'", lambda: lw.ForwardDynamics(robot, parameters=["mas"])),  # type: ignore[list-item]
        ("does not depend on damping", lambda: lw.ForwardDynamics(robot, parameters=["damping"])),
        ("in one", lambda: lw.ForwardDynamics(robot, parameters=["mass", "inertial_parameters"])),
        ("named twice", lambda: lw.ForwardDynamics(robot, parameters=["mass", "mass"])),
        ("none of the bodies", lambda: lw.ForwardDynamics(robot, parameters={"mass": ["nobody"]})),
        ("has no rods", lambda: lw.ForwardDynamics(robot, parameters=["length"])),
        (
            "in steps with contacts alone",
            lambda: lw.Stepper(lw.zoo.sliding_box(), contact=False, parameters=["contact_friction"]),
        ),
        ("passive=False", lambda: lw.InverseDynamics(robot, passive=False, parameters=["damping"])),
        ("has no parameters as inputs", lambda: lw.ForwardDynamics(lw.zoo.four_bar(), "kkt", parameters=["mass"])),
        ("mass must be >= 0; row 1 is -1", lambda: forward(q, v, tau, mass=[1.0, -1.0])),
        ("mass has 3 numbers", lambda: forward(q, v, tau, mass=[1.0, 2.0, 3.0])),
        ("mass must be >= 0; row 1 is nan", lambda: forward(q, v, tau, mass=[1.0, np.nan])),
        ("no argument 'com'", lambda: forward(q, v, tau, com=np.zeros((2, 3)))),
        ("no argument 'smoothing'$", lambda: lw.ForwardDynamics(forward.robot)(q, v, tau, smoothing=0.1)),
        ("no distribution of mass", lambda: forward.with_parameters(inertia=[[1.0, 0, 1, 0, 0, 3]] * 2)),
        ("needs \\(2,\\)", lambda: robot.with_parameters(mass=[1.0])),
        (
            "needs \\(2,\\) or \\(3, 2\\)",
            lambda: lw.rollouts(robot, robot.random(0, 3), seconds=0.01, parameters={"mass": [1.0]}),
        ),
        ("parameters=\\['mass'\\]", lambda: lw.ForwardDynamics(robot)(q, v, tau, mass=[1.0, 1.0])),
    ]
    for words, call in bad:
        with pytest.raises((lw.errors.InputError, lw.errors.UnsupportedFeature), match=words):
            call()


def test_a_tree_with_work_arrays_in_machine_code() -> None:
    @kernel
    def total(tree: Any, out: Any) -> None:
        out[0] = tree.mass[0]

    @kernel
    def replaced(tree: Any, w: Any, *arrays: Any) -> None:
        for i in range(tree.n):
            w.other[i] = 2.0 * tree.mass[i]
        total(with_arrays(tree, w, (("mass", "other"),)), *arrays[1:])

    @kernel
    def wrong(tree: Any, w: Any, *arrays: Any) -> None:
        total(with_arrays(tree, w, (("mass", "nothing"),)), *arrays[1:])

    made = {
        text: Algorithm("try", text, {"q": ("nq",)}, {"out": (1,)}, {"other": ("n",)}, TREE)
        for text in (replaced, wrong)
    }
    lanes = native.module(made[replaced], Type("float64", 4))
    assert "load <4 x double>" in lanes  # a mass in each lane
    with pytest.raises(KernelError, match="no work array nothing"):
        native.module(made[wrong], Type("float64", 1))

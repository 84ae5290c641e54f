# SPDX-License-Identifier: BSD-3-Clause
"""Arguments that are no numbers, no names, no parts: each call says so by an error of linkwork, never by another.

Every parameter of the calls below gets every odd value in turn. `test_bad_calls` does the same for evaluators, with
answers compared; here are the functions around them, which build, change, simulate and convert.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork.inputs import real_array


@cache
def linkage() -> lw.Mechanism:
    return lw.zoo.four_bar()


@cache
def arm() -> lw.Mechanism:
    """A free base, limits, an actuator, a tendon, a sensor, a pose."""
    build = lw.Builder("arm")
    build.body("base", lw.Inertia.box(2, (1, 1, 1))).joint("free", lw.joints.Free(), "world", "base")
    build.body("link", lw.Inertia.box(1, (1, 1, 1))).joint(
        "A", lw.joints.Revolute("y"), "base", "link", lower=-1, upper=1
    )
    build.frame("tip", on="link", at=(0, 0, 0.5)).actuator("motor", "A").pose("home", {"A": 0.2})
    return build.tendon(lw.tendons.Tendon("wire", {"A": 1.0})).sensor(lw.sensors.Sensor("gyro", "gyro", "tip")).build()


Q, V = np.array([0, 0, 0, 0, 0, 0, 1, 0.1]), np.zeros(7)
PARAMETERS = (1.0, 0, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1)


class Stubborn:
    """Refuses to be anything, with errors of its own."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no array")

    def __iter__(self) -> Iterator[Any]:
        raise OSError("no items")

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __bool__(self) -> bool:
        raise RuntimeError("neither true nor false")


class Tensor:
    """What a tensor with gradients is to NumPy."""

    requires_grad = True

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


ODD: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "text": lambda: "abc",
    "null in a text": lambda: "a\0b",
    "bytes": lambda: b"abc",
    "complex": lambda: 1j,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "negative": lambda: -1,
    "huge": lambda: 1e300,
    "tiny": lambda: 1e-320,
    "whole and huge": lambda: 10**400,
    "generator": lambda: (x for x in (1.0,)),
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "dictionary": lambda: {"a": 1.0},
    "dictionary of dictionaries": lambda: {"A": {"B": 1}},
    "set": lambda: {1.0, 2.0},
    "function": lambda: lambda *args, **kwargs: 1.0,
    "class": lambda: int,
    "none in a list": lambda: [None],
    "texts": lambda: ["abc", "def"],
    "empty": lambda: np.zeros(0),
    "many": lambda: np.zeros(17),
    "matrix": lambda: np.zeros((5, 7)),
    "numpy matrix": lambda: np.matrix([[0.0, np.nan]]),
    "dates": lambda: np.zeros(3, "M8[s]"),
    "records": lambda: np.zeros(3, [("a", "f8")]),
    "objects": lambda: np.array([object(), None]),
    "masked": lambda: np.ma.masked_array(np.zeros(3), [1, 0, 0]),
    "long double": lambda: np.full(3, np.longdouble("1e4000")),
    "stubborn": Stubborn,
    "tensor": Tensor,
    "robot": linkage,
    "placement": lw.Placement,
}


def start() -> lw.Builder:
    build = lw.Builder("b").body("base", lw.Inertia.box(1, (1, 1, 1))).body("link", lw.Inertia.box(1, (1, 1, 1)))
    return build.joint("free", lw.joints.Free(), "world", "base").joint("J", lw.joints.Revolute("x"), "base", "link")


def held(kind: Any) -> Callable[..., Any]:
    return lambda **how: start().build().constrained(kind(**how))


@cache
def operator() -> lw.results.DelassusOperator:
    return lw.Delassus(linkage()).at(linkage().poses["assembled"])


@cache
def run() -> lw.Trajectory:
    return lw.simulate(arm(), Q, seconds=0.002)


OPTIONS: dict[str, Any] = {"compliance": 1.0, "enabled": True, "time_constant": None, "gains": None}
PAIR: dict[str, Any] = {"first": "world", "second": "link", "first_at": (0, 0, 0), **OPTIONS}
SHAPES = (
    lw.contact.ContactShape("s", "base", lw.shapes.Sphere(1.0)),
    lw.contact.ContactShape("g", "world", lw.shapes.Ground()),
)
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Inertia": (lw.Inertia, {"mass": 1.0, "com": (0, 0, 0), "rotational": np.eye(3)}),
    "Inertia.box": (lw.Inertia.box, {"mass": 1.0, "size": (1, 1, 1), "com": (0, 0, 0)}),
    "Inertia.rod": (lw.Inertia.rod, {"mass": 1.0, "start": (0, 0, 0), "end": (1, 0, 0), "radius": 0.1}),
    "Inertia +": (lambda x: lw.Inertia.sphere(1, 1) + x, {"x": lw.Inertia.sphere(1, 1)}),
    "Placement": (lw.Placement, {"position": (0, 0, 0), "rotation": None}),
    "Placement.rpy": (lw.Placement.rpy, {"roll": 0.0, "pitch": 0.0, "yaw": 0.0, "position": (0, 0, 0)}),
    "Placement.from_quaternion": (lw.Placement.from_quaternion, {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}),
    "Placement.act": (lw.Placement().act, {"points": (0, 0, 0)}),
    "Placement *": (lambda x: lw.Placement() * x, {"x": lw.Placement()}),
    "Revolute": (lw.joints.Revolute, {"axis": "x"}),
    "Helical": (lw.joints.Helical, {"axis": "x", "pitch": 0.1}),
    "Box": (lw.shapes.Box, {"size": (1, 1, 1)}),
    "Capsule": (lw.shapes.Capsule, {"radius": 1.0, "length": 1.0}),
    "HeightField": (lw.shapes.HeightField, {"heights": ((0, 0), (0, 0)), "size": (1, 1)}),
    "ContactPair": (
        lw.contact.ContactPair,
        {"first": SHAPES[0], "second": SHAPES[1], "friction": 1.0, "restitution": 0.0, "slots": None, "margin": 0.0},
    ),
    "Sensor": (
        lambda **how: start().build().with_sensors(lw.sensors.Sensor(**how)),
        {"name": "s", "type": "gyro", "of": "base", "cutoff": 0.0, "magnetic_flux": (0, 0, 0), "actuators": ()},
    ),
    "Tendon": (
        lambda **how: start().build().with_tendons(lw.tendons.Tendon(**how)),
        {"name": "t", "joints": {"J": 1.0}, "path": (), "stiffness": 0.0, "rest": (0, 0), "limits": (-1, 1)},
    ),
    "Builder.body": (start().body, {"name": "new", "inertia": None, "check": True, "gravity_compensation": 0.0}),
    "Builder.joint": (
        lambda **how: start().body("new", lw.Inertia.box(1, (1, 1, 1))).joint(**how).build(),
        {
            "name": "X",
            "type": lw.joints.Revolute("x"),
            "parent": "base",
            "child": "new",
            "at": (0, 0, 0),
            "lower": -1.0,
        },
    ),
    "Builder.actuator": (
        lambda **how: start().actuator(**how).build(),
        {"name": "a", "joint": "J", "gear": 1.0, "limits": (-1, 1), "gain": (1, 0, 0), "also": (), "dynamics": "none"},
    ),
    "Builder.pose": (lambda x: start().pose("home", {"J": x}).build(), {"x": 0.1}),
    "Builder.add_contacts": (lambda pairs: start().add_contacts(pairs).build(), {"pairs": ()}),
    "Builder.shape": (
        lambda **how: start().shape(**how).build(),
        {"body": "base", "solid": lw.shapes.Sphere(1.0), "at": (0, 0, 0), "color": None, "role": "visual"},
    ),
    "Weld": (held(lw.constraints.Weld), PAIR),
    "Hinge": (held(lw.constraints.Hinge), {**PAIR, "axis": "x"}),
    "Rod": (held(lw.constraints.Rod), {**PAIR, "second_at": (1, 0, 0), "length": 1.0}),
    "JointLock": (held(lw.constraints.JointLock), {"joint": "J", "position": 0.0, **OPTIONS}),
    "JointCoupling": (held(lw.constraints.JointCoupling), {"coefficients": {"J": 1.0}, "offset": 0.0}),
    "JointCoupling of": (lambda x: lw.constraints.JointCoupling({"J": x}), {"x": 1.0}),
    "VelocityCoupling": (held(lw.constraints.VelocityCoupling), {"matrices": {"J": [[1.0]]}}),
    "Follows": (
        held(lw.constraints.Follows),
        {"follower": "J", "leaders": "J", "function": lambda x: x, "offset": 0.0},
    ),
    "zoo.pendulum": (lw.zoo.pendulum, {"links": 2, "length": 1.0, "mass": 1.0}),
    "zoo.random_loops": (lw.zoo.random_loops, {"seed": 0, "bodies": 3, "loops": 1, "armature": False}),
    "attach": (lambda **how: lw.attach(arm(), linkage(), **how), {"to": "tip", "at": (0, 0, 0), "prefix": "p/"}),
    "assemble": (
        lambda **how: linkage().assemble(**how),
        {"q": None, "fixed": (), "tolerance": None, "max_iterations": 9, "attempts": 1, "seed": 0, "limits": True},
    ),
    "project_velocity": (lambda **how: arm().project_velocity(**how), {"q": Q, "v": V}),
    "interpolate": (lambda **how: arm().interpolate(**how), {"q": Q, "p": Q, "part": 0.5}),
    "random_states": (lambda **how: arm().random_states(**how), {"seed": 0, "size": (), "speed": 1.0}),
    "reduced": (lambda **how: arm().reduced(**how), {"fixed": ["A"], "q": None}),
    "scaled": (lambda **how: arm().scaled(**how), {"length": 1.0, "mass": 1.0, "time": None}),
    "with_parameters": (lambda x: arm().with_parameters(mass=x), {"x": (1.0, 2.0)}),
    "with_inertial_parameters": (lambda x: arm().with_inertial_parameters(x), {"x": [PARAMETERS] * 2}),
    "joint": (lambda name: arm().joint(name), {"name": "A"}),
    "poses": (lambda name: arm().poses[name], {"name": "home"}),
    "to_text": (lambda **how: arm().to_text(**how), {"format": "mjcf", "drop": (), "pose": None}),
    "log_cholesky": (lw.inertial_parameters.log_cholesky, {"parameters": PARAMETERS}),
    "mujoco_map": (lambda **how: lw.peers.mujoco_map(arm()).to_qvel(**how), {"q": Q, "v": V}),
    "point_position": (
        lambda **how: lw.kinematics.point_position(arm(), **how),
        {"q": Q, "frame": "tip", "point": (0, 0, 0)},
    ),
    "actuator_torques": (
        lambda **how: lw.actuators.actuator_torques(arm(), **how),
        {"q": Q, "v": V, "commands": [0.0], "act": None},
    ),
    "kkt": (
        lambda **how: lw.ForwardDynamics(linkage(), "kkt")(**{"q": linkage().poses["assembled"], **how}),
        {"v": np.zeros(3), "tau": np.zeros(3), "target": None, "regularization": None, "out": None},
    ),
    "ForwardDynamics": (lambda **how: lw.ForwardDynamics(linkage(), **how), {"method": "auto", "max_iterations": 3}),
    "with_parameters of an evaluator": (
        lambda x: lw.ForwardDynamics(arm(), parameters=["com"]).with_parameters(com=x),
        {"x": np.zeros((2, 3))},
    ),
    "Delassus @": (lambda x: operator() @ x, {"x": np.zeros(5)}),
    "Delassus.matmat": (lambda X: operator().matmat(X), {"X": np.zeros((5, 2))}),
    "KKT.solve": (lambda b: lw.KKT(linkage()).at(linkage().poses["assembled"]).solve(b), {"b": np.zeros(8)}),
    "sensor_data": (
        lambda **how: lw.sensors.sensor_data(arm(), **how),
        {"q": Q, "v": V, "solution": None, "names": None, "wrenches": None, "time": None},
    ),
    "simulate": (
        lambda **how: lw.simulate(arm(), **{"q": Q, "seconds": 0.001, **how}),
        {"q": Q, "v": V, "seconds": 0.001, "integrator": "euler", "method": "auto", "tau": None, "wrenches": None},
    ),
    "simulate with a wrench": (
        lambda x: lw.simulate(arm(), Q, seconds=0.001, wrenches={"tip": x}),
        {"x": np.zeros(6)},
    ),
    "run": (lambda **how: run().part(**how), {"start": 0, "stop": None}),
    "run.at": (lambda **how: run().at(**how), {"time": 0.0}),
    "run.save": (lambda path: run().save(path), {"path": None}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("called", CALLS)
def test_odd_arguments_are_taken_or_refused_by_name(called: str, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)  # a text is the path of a file
    function, good = CALLS[called]
    wrong = []
    for name, (kind, make) in ((name, odd) for name in good for odd in ODD.items()):
        try:
            function(**{**good, name: make()})
        except lw.errors.LinkworkError as error:
            if len(str(error)) < 15:
                wrong.append(f"{name} {kind}: says only '{error}'")
        except Exception as error:
            wrong.append(f"{name} {kind}: {type(error).__name__} {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (Tensor(), "q requires gradients, which arrays do not keep: pass q.detach(), or use linkwork.torch"),
        ("up", "q is 'up', needs numbers"),
        ({"hip": 1.0}, "q is {'hip': 1.0}, needs numbers"),
        (np.zeros(3, "M8[s]"), "q has dtype datetime64[s], needs real numbers"),
        (np.ma.masked_array([1.0, 2.0], [True, False]), "q has masked numbers"),
    ],
    ids=["gradients", "text", "dictionary", "dates", "masked"],
)
def test_the_error_names_the_argument(x: Any, message: str) -> None:
    with pytest.raises(lw.errors.InputError) as raised:
        real_array(x, "q")
    assert str(raised.value) == message


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_parameters_that_are_not_finite_are_refused(bad: float) -> None:
    fd = lw.ForwardDynamics(arm(), parameters=["com", "gravity"])
    for make in (lambda: arm().with_parameters(gravity=(0, 0, bad)), lambda: fd.with_parameters(gravity=(0, 0, bad))):
        with pytest.raises(lw.errors.InputError, match="gravity holds NaN or infinity"):
            make()


@pytest.mark.parametrize("quantity", ["bias_forces", "frame_velocity", "energy", "actuator_torques", "terms"])
def test_quantities_pass_on_no_nan(quantity: str) -> None:
    """Neither of the first call nor of those after it, which take another path."""
    function = getattr(lw.actuators if quantity == "actuator_torques" else lw, quantity)
    further = {"frame_velocity": ["tip"], "actuator_torques": [[0.0]]}.get(quantity, [])
    for _ in range(3):
        function(arm(), Q, V, *further)
        with pytest.raises(lw.errors.InputError, match="v holds NaN at index 2"):
            function(arm(), Q, np.where(np.arange(7) == 2, np.nan, V), *further)


def test_converted_functions_keep_their_signatures() -> None:
    assert list(inspect.signature(lw.shapes.Sphere).parameters) == ["radius"]
    assert "crank" in inspect.signature(lw.zoo.four_bar).parameters

# SPDX-License-Identifier: BSD-3-Clause
"""`save_live_page`: a robot, its program and the page's own text as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.errors import InputError, LinkworkError
from linkwork.inputs import ContactLaw, PageIntegrator, ParameterName, above_zero, plural
from linkwork.model.model import Model
from linkwork.pages import controls
from linkwork.pages.contacts import contact_description
from linkwork.pages.program import LENGTHS, PageProgram, body_masses, joint_inertias, page_program
from linkwork.pages.scene import scene, size_at
from linkwork.quantities.arguments import Array
from linkwork.simulation import Stepper
from linkwork.simulation.initial import initial_state

SCRIPTS = ("solids.js", "camera.js", "picture.js", "webgl.js", "scanlines.js", "plots.js", "page.js", "controls.js")
"""Files of the page's script, in order."""


@dataclass(frozen=True)
class LivePage:
    """A page that was written."""

    path: Path
    size: int
    """Bytes of the file."""
    module: int
    """Bytes of the WebAssembly in it."""
    dt: float
    """Time of one step, in seconds."""


def save_live_page(
    robot: Model,
    path: str | os.PathLike[str],
    q: npt.ArrayLike,
    v: npt.ArrayLike | None = None,
    *,
    dt: float = 1e-3,
    parameters: Sequence[ParameterName] | None = None,
    contact: ContactLaw = None,
    integrator: PageIntegrator = "auto",
    drive: controls.Drive | None = None,
    speed: float = 1.0,
    playing: bool = True,
    notes: Sequence[str] = (),
) -> LivePage:
    """Write a page in which a robot runs.

    Args:
        robot: The mechanism.
        path: The ``.html`` file to write.
        q: Configuration that the page begins with, ``(nq,)``, with closed loops.
        v: Joint velocities, ``(nv,)``; by default none.
        dt: Time of one step, in seconds.
        parameters: Parameters that sliders change beside gravity: ``"mass"``, ``"joint_position"``,
            ``"anchor_position"``; None: masses, and lengths of robots with few degrees of freedom.
        contact: Whether contact pairs touch, as for `Stepper`; by default they do.
        integrator: Integrator of the steps; by default the choice of `simulate` of those that a page has.
        drive: Initial modes of motors: joint to ``("velocity", 2.0)``, ``("torque", ...)`` or ``("position", ...)``.
        speed: Seconds of the mechanism that pass in one second at first.
        playing: Whether the page begins to run by itself.
        notes: Sentences about the model for the page's help.
    """
    place = Path(path)
    if place.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{place} ends in '{place.suffix}'; a page is .html")
    text, module = live_page(
        robot,
        q,
        v,
        dt=dt,
        parameters=parameters,
        contact=contact,
        integrator=integrator,
        drive=drive,
        speed=speed,
        playing=playing,
        notes=notes,
    )
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LinkworkError(f"cannot write the page to {place}: {error.strerror or error}") from None
    return LivePage(place, len(text.encode()), module, dt)


def live_page(
    robot: Model,
    q: npt.ArrayLike,
    v: npt.ArrayLike | None,
    *,
    dt: float,
    parameters: Sequence[ParameterName] | None,
    contact: ContactLaw,
    integrator: PageIntegrator,
    drive: controls.Drive | None,
    speed: float,
    playing: bool,
    notes: Sequence[str],
) -> tuple[str, int]:
    """The text of a page, and the bytes of its module; arguments as for `save_live_page`."""
    above_zero(dt, "dt")
    at, rates = _state(robot, q, v)
    program = page_program(robot, at, dt, parameters, contact, integrator)
    touching = program.stepper.contact
    held = program.stepper.execution.held
    mobile: dict[str, Array] = {name: np.asarray(held[name]) for name in LENGTHS if name in program.parameters}
    motors = controls.motors(robot, joint_inertias(robot, at), size_at(robot, at), drive or {})
    drawn = scene(robot, _seen(program, at, rates, motors), mobile)
    springs = controls.hands(robot, body_masses(robot, at), dt)
    for body, hand in zip(drawn["bodies"][1:], springs, strict=True):
        body["hand"] = hand
    content: dict[str, Any] = {
        "name": robot.name,
        "about": _about(robot, program.stepper),
        "notes": [*notes, *_left_out(robot, touching), *_not_drawn(drawn.pop("skipped"))],
        "q": at.tolist(),
        "v": rates.tolist(),
        "dt": dt,
        "speed": speed,
        "playing": bool(playing),
        "nc": robot.nc,
        "contact": contact_description(program.stepper),
        "layout": {"inputs": program.module.inputs, "outputs": program.module.outputs},
        "wasm": base64.b64encode(program.module.binary).decode(),
        "parameters": {name: np.ravel(held[name]).tolist() for name in program.parameters},
        "motors": motors,
        "springs": controls.springs(robot),
        "masses": controls.masses(robot) if "mass" in program.parameters else [],
        "lengths": controls.lengths(robot, mobile),
        "plots": controls.plots(robot, motors, touching),
        **drawn,
    }
    return _assembled(robot.name, content), len(program.module.binary)


def _state(robot: Model, q: npt.ArrayLike, v: npt.ArrayLike | None) -> tuple[Array, Array]:
    at = robot.normalize(q)
    rates = np.zeros(robot.nv) if v is None else np.asarray(v, dtype=np.float64)
    if at.ndim != 1 or rates.shape != (robot.nv,):
        raise InputError(
            f"a page begins with one state, q of {robot.nq} and v of {robot.nv} numbers; found {at.shape} and "
            f"{rates.shape}"
        )
    return initial_state(robot, at, rates, closed=False)


def _seen(program: PageProgram, q: Array, v: Array, driven: list[dict[str, Any]]) -> Array:
    """Configurations of the first two seconds, for the size of the picture; at least the first."""
    states, kept = [q], None
    stepper = Stepper.of_settings(program.robot, replace(program.stepper.planned.settings, wrenches=()))
    for k in range(1, round(2.0 / stepper.dt)):
        tau, time = controls.servo_torques(driven, q, v), (k - 1) * stepper.dt
        try:
            after = stepper(q, v, tau, contact_state=kept, time=time)
        except LinkworkError:  # it does not stay finite: what was seen until then counts
            break
        q, v, kept = after.q, after.v, after.contact_state
        if not k % max(round(0.05 / stepper.dt), 1):
            states.append(q)
    return np.array(states)


def _about(robot: Model, stepper: Stepper) -> str:
    loops = sum(c.enabled for c in robot.constraints)
    words = [plural(len(robot.body_names), "body", "bodies"), f"{robot.nv} velocities"]
    words += [f"{plural(loops, 'constraint', 'constraints')} of {robot.nc} rows"] if loops else []
    if len(robot.contacts):
        words.append(
            plural(len(robot.contacts), "contact pair", "contact pairs") if stepper.contact else "contacts left out"
        )
    method = "Runge and Kutta's method" if stepper.integrator == "rk4" else "semi-implicit Euler"
    return ", ".join([*words, f"steps of {1e3 * stepper.dt:g} ms by {method}"])


def _left_out(robot: Model, touching: bool) -> list[str]:
    """Parts of a model that the page does not compute."""
    words = []
    if len(robot.contacts) and not touching:
        pairs = plural(len(robot.contacts), "pair", "pairs")
        words.append(f"Contacts ({pairs}) are left out: bodies pass through each other and the ground.")
    if any(joint.friction.any() for joint in robot.joints) and not touching:
        words.append("Dry friction of joints is left out.")
    if robot.actuators:
        words.append("Actuators of the model take no commands here: motors act on joints directly.")
    return words


def _not_drawn(skipped: dict[str, str]) -> list[str]:
    if not skipped:
        return []
    name, reason = next(iter(skipped.items()))
    return [f"{plural(len(skipped), 'mesh is', 'meshes are')} not drawn, such as {name}: {reason}"]


# Text ---------------------------------------------------------------------------------------------------------------


def _assembled(title: str, content: dict[str, Any]) -> str:
    """The page: nothing of the model is text that a browser would run or take for a tag."""
    script = "\n".join(['"use strict";', "(() => {", *map(_text, SCRIPTS), "})();"])
    style = _text("page.css")
    parts = {
        "script-hash": f"'sha256-{_digest(script)}'",
        "style-hash": f"'sha256-{_digest(style)}'",
        "style": style,
        "title": html.escape(title),
        "worker": _text("worker.js"),
        "script": script,
        "robot": json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
    }
    return re.sub("@([a-z-]+)@", lambda mark: parts[mark[1]], _text("page.html"))  # in one pass: names may have marks


def _text(name: str) -> str:
    return files("linkwork.pages").joinpath("web", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

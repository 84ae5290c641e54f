# SPDX-License-Identifier: BSD-3-Clause
"""Robot files of others: which load, how far they are from MuJoCo, and where they are after 1 s and 5 s.

``python -m linkwork_benchmarks.census [--motion] [--out FILE] [COLLECTION or FOLDER ...]``

Collections are ``scenes`` (the folder of ``LINKWORK_SCENES``), ``models`` (that of ``LINKWORK_MODELS``), ``gymnasium``
and ``dm_control`` (files of the installed packages) and ``descriptions`` (names of the package robot_descriptions,
which clones what it has not); by default those of the first four that are there. Of a folder all MJCF files count that
MuJoCo compiles, and all URDF files.

| number   | what it is                                                                                               |
|----------|----------------------------------------------------------------------------------------------------------|
| matrix   | largest difference of the mass matrix to MuJoCo's, over its largest number, off the drawn pose           |
| tendons  | of lengths of tendons, in m or rad                                                                       |
| torques  | of joint torques that actuators make of random commands, over the largest or 1                           |
| sensors  | of sensor values without contacts, over the largest or 1; sensors that are not computed are left out     |
| 1 s, 5 s | distance of the torso or tool from where it is in MuJoCo, in cm, with ``contact="soft"``: of the center  |
|          | of mass of the heaviest body of a robot with a free base, of the last link of another                    |
| cone     | the same of MuJoCo with elliptic cones, which linkwork has, from MuJoCo as the file says, after 1 s      |
| itself   | the same of MuJoCo from MuJoCo that starts `ASIDE` away, after 5 s: where this is large, motion is       |
|          | chaotic                                                                                                  |

Outcomes after 5 s are compared, too: whether that body is upright (`TURNED`, from its start), and its height. They are
the same where both agree; of chaotic motions, beyond `CHAOTIC`, none is expected.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import linkwork as lw
from linkwork.errors import LinkworkError
from linkwork.peers import mujoco_map
from linkwork_benchmarks.robots import MODELS, Floats
from linkwork_benchmarks.runner import say
from linkwork_benchmarks.scene_files.files import SCENE_FILES

PACKAGES = ("gymnasium", "dm_control")
DESCRIPTIONS = "descriptions"
BRIEF, LONG = 1.0, 5.0
"""Seconds after which motions are compared."""
ASIDE = 1e-5
"""Deviation of each coordinate, in m or rad, of a start beside another."""
CHAOTIC = 1.0
"""Centimeters by which two such motions of MuJoCo differ after 5 s where they are chaotic."""
TURNED = np.radians(45)
"""A body that is turned farther from where it starts is not upright."""
SAME_HEIGHT = 0.1
"""Part of the height at the start by which heights of one class differ."""


@dataclass
class Entry:
    """What is known of one file."""

    file: str
    refused: str = ""
    """Why it does not load; empty: it does."""
    numbers: dict[str, float] = field(default_factory=dict)
    """Differences to MuJoCo, by name."""
    outcomes: list[str] = field(default_factory=list)
    """After 5 s, of MuJoCo and of linkwork: ``upright`` or ``turned``, and how high."""
    skipped: list[str] = field(default_factory=list)
    """Actuators and sensors that are not computed, with the reason."""


def folders(names: list[str]) -> dict[str, Path]:
    """Folders of files by collection; names that are no collection are folders.

    Args:
        names: Collections and folders; none: all collections that are there.
    """
    places = {"scenes": SCENE_FILES, "models": MODELS}
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is not None and spec.submodule_search_locations:
            places[package] = Path(spec.submodule_search_locations[0])
    wanted = names or [name for name, place in places.items() if place.is_dir()]
    return {name: places.get(name, Path(name)) for name in wanted if name != DESCRIPTIONS}


def files_of(folder: Path) -> Iterator[tuple[Path, Any]]:
    """Files of robots in a folder: MJCF with MuJoCo's model, URDF with None; those that MuJoCo refuses are left out."""
    import mujoco

    for path in sorted(folder.rglob("*.xml")):
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            continue
        if model.nbody > 1:
            yield path, model
    for path in sorted(folder.rglob("*.urdf")):
        yield path, None


def census(folder: Path, motion: bool) -> list[Entry]:
    """Entries of all robot files of a folder.

    Args:
        folder: The folder.
        motion: Whether robots move, too.
    """
    entries = []
    for path, model in files_of(folder):
        entry = Entry(str(path.relative_to(folder)))
        try:
            robot = lw.load(path)
        except LinkworkError as error:
            entry.refused = f"{type(error).__name__}: {error}"
        else:
            if model is not None and model.nv:
                compare(robot, model, entry)
                if motion:
                    compare_motion(robot, model, entry)
        say(line(entry))
        entries.append(entry)
    return entries


def compare(robot: lw.Mechanism, model: Any, entry: Entry) -> None:
    """Differences of quantities of a state off the drawn pose."""
    import mujoco

    rng, convert, data = np.random.default_rng(0), mujoco_map(robot), mujoco.MjData(model)
    off = mujoco.mjtDisableBit
    flags = model.opt.disableflags
    model.opt.disableflags |= off.mjDSBL_CONTACT | off.mjDSBL_LIMIT | off.mjDSBL_FRICTIONLOSS | off.mjDSBL_EQUALITY
    mujoco.mj_integratePos(model, data.qpos, 0.3 * rng.normal(size=model.nv), 1.0)
    data.qvel[:], data.ctrl[:] = rng.normal(size=model.nv), rng.normal(size=model.nu)
    mujoco.mj_forward(model, data)
    q = convert.from_qpos(data.qpos)
    v = convert.from_qvel(q, data.qvel)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    T = convert.velocity_matrix(q)
    expected = T.T @ full @ T
    entry.numbers["matrix"] = float(np.abs(lw.mass_matrix(robot, q) - expected).max() / np.abs(expected).max())
    if model.ntendon:
        lengths = lw.Evaluator(robot, "tendon_length")(q)[: model.ntendon]
        entry.numbers["tendons"] = float(np.abs(lengths - data.ten_length).max())
    refused = [actuator for actuator in robot.actuators if actuator.refused]
    entry.skipped += [f"actuator '{actuator.name}': {actuator.refused}" for actuator in refused]
    if model.nu and not refused and robot.na == model.na:
        act = (data.act,) if model.na else ()
        torques = lw.actuators.actuator_torques(robot, q, v, data.ctrl, *act)
        entry.numbers["torques"] = _difference(torques, convert.from_qfrc(q, data.qfrc_actuator))
    _compare_sensors(robot, model, data, (q, v, convert.from_qacc(q, v, data.qacc)), entry)
    model.opt.disableflags = flags


def _compare_sensors(robot: lw.Mechanism, model: Any, data: Any, state: tuple[Floats, ...], entry: Entry) -> None:
    entry.skipped += [f"sensor '{sensor.name}': {sensor.refused}" for sensor in robot.sensors if sensor.refused]
    names = [sensor.name for sensor in robot.sensors if not sensor.refused]
    if not names:
        return
    sensors = lw.sensors.Sensors(robot, names, contacts=False)
    inputs: dict[str, Any] = dict(zip(("q", "v", "a"), state, strict=True))
    inputs |= {"commands": np.array(data.ctrl), "activations": np.array(data.act), "time": np.zeros(1)}
    inputs |= {"constraint_forces": np.zeros(robot.nc), "limit_forces": np.zeros(robot.nv)}
    if not set(sensors.inputs) <= set(inputs):
        entry.skipped.append(f"sensors that need {', '.join(sorted(set(sensors.inputs) - set(inputs)))}")
        return
    values = sensors(*(inputs[name] for name in sensors.inputs))
    where = {model.sensor(k).name: k for k in range(model.nsensor)}
    worst = 0.0
    for name in (name for name in names if name in where):
        k = where[name]
        there = data.sensordata[model.sensor_adr[k] : model.sensor_adr[k] + model.sensor_dim[k]]
        worst = max(worst, _difference(values[sensors.slices[name]], there))
    entry.numbers["sensors"] = worst


def compare_motion(robot: lw.Mechanism, model: Any, entry: Entry) -> None:
    """Distances of the torso or tool from MuJoCo's, from the first keyframe under its commands, or as drawn."""
    import mujoco

    if any(actuator.refused for actuator in robot.actuators):
        return
    body, dt, convert = torso_or_tool(model), float(model.opt.timestep), mujoco_map(robot)
    data, held = _start(model), dict[str, Any]()
    q = convert.from_qpos(data.qpos)
    v = convert.from_qvel(q, data.qvel)
    if model.nu:
        held["commands"] = np.array(data.ctrl)
    if robot.na:
        held["act"] = np.concatenate([data.act, np.zeros(robot.na - model.na)])
    if robot.contacts:
        held["contact"] = "soft"
    marks = [round(seconds / dt) for seconds in (BRIEF, LONG)]
    mujoco.mj_kinematics(model, data)
    start = _pose(data, body)
    there = _positions(model, data, body, marks)
    ends = [_pose(data, body)]
    aside, rng = _start(model), np.random.default_rng(0)
    mujoco.mj_integratePos(model, aside.qpos, ASIDE * rng.normal(size=model.nv), 1.0)
    entry.numbers["itself"] = _centimeters(_positions(model, aside, body, marks[1:])[0], there[1])
    elliptic, cone = _start(model), model.opt.cone
    model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    entry.numbers["cone"] = _centimeters(_positions(model, elliptic, body, marks[:1])[0], there[0])
    model.opt.cone = cone
    try:
        run = lw.simulate(robot, q, v, seconds=LONG, dt=dt, record_every=marks[0], **held)
    except LinkworkError as error:
        entry.skipped.append(f"motion: {type(error).__name__}: {error}")
        return
    for mark, position in zip((BRIEF, LONG), there, strict=True):
        k = int(np.argmin(np.abs(run.times - mark)))
        if abs(run.times[k] - mark) > dt:
            entry.skipped.append(f"motion: {run.ended}")
            return
        data.qpos[:] = convert.to_qpos(run.q[k])
        mujoco.mj_kinematics(model, data)
        entry.numbers[f"{mark:g} s"] = _centimeters(data.xipos[body], position)
    ends.append(_pose(data, body))
    entry.outcomes = [_outcome(start, end, ends[0]) for end in ends]


def _pose(data: Any, body: int) -> tuple[Floats, Floats]:
    """Position of the center of mass, and rotation, of a body."""
    return np.array(data.xipos[body]), np.array(data.xmat[body]).reshape(3, 3)


def _outcome(start: tuple[Floats, Floats], end: tuple[Floats, Floats], theirs: tuple[Floats, Floats]) -> str:
    """Whether a body is upright, and whether it is as high as in MuJoCo."""
    up = np.linalg.inv(start[1])[:, 2]  # the vertical at the start, in the body
    turned = np.arccos(np.clip((end[1] @ up)[2], -1.0, 1.0)) > TURNED
    apart = end[0][2] - theirs[0][2]
    near = abs(apart) <= SAME_HEIGHT * max(abs(start[0][2]), SAME_HEIGHT)
    return f"{'turned' if turned else 'upright'}, {'as high' if near else 'higher' if apart > 0 else 'lower'}"


def torso_or_tool(model: Any) -> int:
    """The heaviest body that moves, of a robot with a free base; of another the one with the most bodies below it."""
    import mujoco

    moves = model.body_weldid > 0
    if (model.jnt_type == mujoco.mjtJoint.mjJNT_FREE).any():
        return int(np.argmax(np.where(moves, model.body_mass, 0.0)))
    depth = np.zeros(model.nbody)
    for k in range(1, model.nbody):
        depth[k] = depth[model.body_parentid[k]] + 1
    return int(np.argmax(np.where(moves, depth, 0.0)))


def _start(model: Any) -> Any:
    import mujoco

    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    return data


def _positions(model: Any, data: Any, body: int, marks: list[int]) -> list[Floats]:
    """Positions of a body after numbers of steps of MuJoCo."""
    import mujoco

    positions, done = list[Floats](), 0
    for mark in marks:
        mujoco.mj_step(model, data, mark - done)
        done = mark
        mujoco.mj_kinematics(model, data)
        positions.append(np.array(data.xipos[body]))
    return positions


def _difference(ours: Floats, theirs: Floats) -> float:
    return float(np.abs(ours - theirs).max(initial=0.0) / max(1.0, np.abs(theirs).max(initial=0.0)))


def _centimeters(x: Floats, y: Floats) -> float:
    return float(100 * np.linalg.norm(x - y))


def descriptions() -> list[Entry]:
    """Entries of all names of robot_descriptions, in each of their formats."""
    names = import_module("robot_descriptions._descriptions").DESCRIPTIONS

    entries = []
    for name in names:
        entry = Entry(name)
        try:
            lw.load_description(name)
        except LinkworkError as error:
            entry.refused = f"{type(error).__name__}: {error}".splitlines()[0]
        say(line(entry))
        entries.append(entry)
    return entries


def line(entry: Entry) -> str:
    """An entry in a line."""
    if entry.refused:
        return f"  {entry.file}: refused: {entry.refused}"
    numbers = ", ".join(f"{name} {value:.2g}" for name, value in entry.numbers.items())
    outcomes = [" and ".join(dict.fromkeys(entry.outcomes))] if entry.outcomes else []
    return f"  {entry.file}: {'; '.join([numbers, *outcomes, *entry.skipped])}"


def summary(name: str, entries: list[Entry]) -> str:
    """Counts of a collection, and its largest differences."""
    loaded = [entry for entry in entries if not entry.refused]
    worst = {
        number: max(entry.numbers[number] for entry in loaded if number in entry.numbers)
        for number in dict.fromkeys(number for entry in loaded for number in entry.numbers)
    }
    near = sum(entry.numbers.get(f"{BRIEF:g} s", np.inf) <= 1.0 for entry in loaded)
    moved = sum(f"{BRIEF:g} s" in entry.numbers for entry in loaded)
    judged = [entry for entry in loaded if entry.outcomes]
    steady = [entry for entry in judged if entry.numbers["itself"] <= CHAOTIC]
    same = sum(len(set(entry.outcomes)) == 1 for entry in steady)
    largest = ", ".join(f"{number} {value:.2g}" for number, value in worst.items())
    motion = f"; {near} of {moved} within 1 cm of MuJoCo after {BRIEF:g} s" if moved else ""
    if judged:
        motion += f"; the same outcome after {LONG:g} s of {same} of {len(steady)}, {len(judged) - len(steady)} chaotic"
    return f"{name}: {len(loaded)} of {len(entries)} load; largest differences: {largest}{motion}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m linkwork_benchmarks.census",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("collections", nargs="*", help="collections and folders")
    parser.add_argument("--motion", action="store_true", help="let robots move for 5 s")
    parser.add_argument("--out", type=Path, help="JSON file for all entries")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.setdefault("LINKWORK_MODELS", str(MODELS))
    entries = {name: census(folder, options.motion) for name, folder in folders(options.collections).items()}
    if DESCRIPTIONS in options.collections:
        entries[DESCRIPTIONS] = descriptions()
    for name, found in entries.items():
        print(summary(name, found))
    if options.out is not None:
        listed = {name: [asdict(entry) for entry in found] for name, found in entries.items()}
        options.out.write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

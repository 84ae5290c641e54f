# SPDX-License-Identifier: BSD-3-Clause
"""MJCF files to mechanisms, read as MuJoCo's compiler reads them.

Read: bodies and frames with all notations of placements, joints of all four kinds with several to a body, inertials and
inertias of primitive geoms with what <compiler> does to them, default classes, included files, equalities, tendons,
actuators on joints and tendons with their gains, biases and activations, gravity and its compensation, keyframes,
sensors, how geoms look, and which of them may touch. What changes the dynamics and is not read is an
`UnsupportedFeature`. See docs/reference/mjcf.md.

| file           | contents                                                         |
|----------------|------------------------------------------------------------------|
| document       | included files, default classes                                  |
| expansion      | <attach> and <replicate>, written out                            |
| vocabulary     | all elements and attributes that are read or skipped             |
| settings       | <compiler>, <option>; orientations                               |
| tree           | bodies and frames as they are nested; names                      |
| joints         | joints, ``ref``, limits                                          |
| inertia        | <inertial>, shapes of geoms                                      |
| meshes         | mesh assets, their inertia, primitives fitted to them            |
| fluid          | shapes that the medium pushes at                                 |
| tendons        | tendons, fixed and through sites                                 |
| equalities     | equalities                                                       |
| motors         | actuators: what they drive                                       |
| servos         | actuators: how they make force                                   |
| motor_numbers  | numbers of actuators that the inertia of the whole model gives   |
| mocap          | mocap bodies, and what moves with them                           |
| keyframes      | ``qpos0`` and keyframes                                          |
| sensors        | sensors: what they are on                                        |
| quaternions    | signs of quaternions, for sensors of orientation                 |
| shapes         | geoms as they look; mesh and material assets                     |
| height_fields  | height fields: heights in text, binary files, images             |
| contacts       | which geoms may touch, with which friction                       |
| convention     | MuJoCo's vectors and ours                                        |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from linkwork.errors import UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.model.inertia import Inertia
from linkwork.model.joints import Fixed, Free
from linkwork.model.placement import Placement
from linkwork.model.sensors import OUTBOARD
from linkwork.parsing.contact_rules import SelfCollision, Unused, with_loaded_contacts
from linkwork.parsing.located_builder import LocatedBuilder
from linkwork.parsing.mjcf.contacts import ContactReader
from linkwork.parsing.mjcf.convention import MujocoMap, mujoco_map
from linkwork.parsing.mjcf.document import Defaults, MjcfDocument, included_path, read_document
from linkwork.parsing.mjcf.equalities import References, read_equalities
from linkwork.parsing.mjcf.expansion import expanded
from linkwork.parsing.mjcf.fluid import fluid_shapes
from linkwork.parsing.mjcf.inertia import read_inertias, size_and_place, static_inertias
from linkwork.parsing.mjcf.joints import MjcfJoint, read_joints, with_spring_dampers
from linkwork.parsing.mjcf.keyframes import read_activations, read_commands, read_mocap, read_poses
from linkwork.parsing.mjcf.meshes import MeshAssets
from linkwork.parsing.mjcf.mocap import mocap_names, with_mocap_bodies
from linkwork.parsing.mjcf.motor_numbers import with_free_armatures, with_muscle_forces, with_resolved_damping_ratios
from linkwork.parsing.mjcf.motors import MotorReader, Motors
from linkwork.parsing.mjcf.names import refuse_repeated_names
from linkwork.parsing.mjcf.quaternions import NeutralOrientations
from linkwork.parsing.mjcf.sensors import SensorReader
from linkwork.parsing.mjcf.servos import UNLIMITED
from linkwork.parsing.mjcf.settings import YES_NO, Settings, read_settings
from linkwork.parsing.mjcf.shapes import read_looks, read_shapes
from linkwork.parsing.mjcf.stepping import warn_of_stepping
from linkwork.parsing.mjcf.tendons import OF_GEOM, MjcfTendon, Places, on_frames, read_tendons, with_springs_at_rest
from linkwork.parsing.mjcf.tree import Body, Item, Tree, fresh, read_tree
from linkwork.parsing.mjcf.vocabulary import SECTIONS, not_understood, refuse_unknown
from linkwork.parsing.options import Document, LoadSettings, read_file
from linkwork.parsing.xml import Node

__all__ = ["MujocoMap", "mujoco_map", "read_mjcf"]


def read_mjcf(document: Document, settings: LoadSettings) -> Mechanism:
    """A mechanism from an MJCF file; files that it includes are read from its folder or below."""
    unused = Unused(all_of_it=bool(settings.contacts))
    read = _read_whole(document, settings.folders)
    mechanism = _mechanism(read, settings, unused)
    loaded = with_loaded_contacts(mechanism, settings.contacts, SelfCollision(), unused, read.root)
    unused.warn()
    return loaded


def _read_whole(document: Document, folders: tuple[Path, ...]) -> MjcfDocument:
    """A model with what it includes and the models that it attaches."""

    def attached(node: Node, name: str) -> MjcfDocument:
        if document.path is None:
            raise node.error("the text of a model can attach others only when it is loaded from a file")
        file = included_path(node, document.path.parent, folders)
        return read_document(read_file(file), str(file), file, (document.path.parent, *folders))

    return expanded(read_document(document.text, document.name, document.path, folders), attached)


def _mechanism(document: MjcfDocument, given: LoadSettings, unused: Unused) -> Mechanism:
    _refuse_sections(document)
    settings, defaults = read_settings(document), Defaults(document)
    tree = read_tree(document, defaults, settings)
    refuse_repeated_names(document, tree)
    mocap = mocap_names(tree)
    meshes = MeshAssets(document, defaults, settings.exact_meshes)
    looks = read_looks(document, defaults, settings, meshes)
    joints = read_joints(tree, settings)
    places = Places(tree, settings, meshes)
    tendons = read_tendons(document, defaults, joints, places)
    carriers = {tree.names[body]: "" if body.is_static else tree.names[body.carrier] for body in tree.bodies}
    motors = MotorReader(document, defaults, joints, tendons, carriers, settings).motors()
    name = document.root.get("model") or Path(document.root.file).stem
    builder = LocatedBuilder(document.root, name, given.inertias, settings.gravity)
    inertias = read_inertias(tree, settings, meshes)
    static = static_inertias(tree, settings, meshes) if any(document.inside("sensor")) else {}
    weighed = inertias
    if settings.total_mass <= 0 and any(document.inside("sensor", *OUTBOARD)):
        weighed = static
        inertias |= weighed
    body_names = _add_bodies(builder, tree, joints, motors, inertias, settings)
    shapes = {body: read_shapes(body, looks) for body in tree.bodies}
    for body, body_name in tree.names.items():
        builder.shapes(body_name, shapes[body])
        if settings.medium and given.medium != "ignore" and not body.is_static:
            builder.shapes(body_name, fluid_shapes(body, inertias[body], settings, meshes))
    if given.contacts is not False:
        carried = [body.carrier for body in tree.bodies if not body.is_static]
        parts = {body: inertias[body].com for body in inertias if carried.count(body.carrier) > 1}
        builder.contacts(ContactReader(document, defaults, settings, tree, shapes, mocap, parts, unused).pairs())
    sites, frames = _add_sites(builder, tree, settings, body_names)
    _add_obstacles(builder, places, tendons, body_names, frames)
    for node, tendon in on_frames(tendons, frames):
        builder.tendon(node, motors.damped(tendon if settings.limits else replace(tendon, limits=UNLIMITED)))
    bodies = {name: body for body, name in tree.names.items()}
    model = References(tree, settings, bodies, sites, joints, tendons, frames)
    for node, constraint in read_equalities(document, defaults, model):
        builder.constrain(node, constraint)
    for motor in motors.kept:
        if motor.transmission is not None:
            builder.tendon(motor.node, motor.length(frames))
        builder.actuator(motor.node, motor.name, motor.joint, motor.gear, **motor.options)
    poses = read_poses(document, tree, joints)
    for name, pose in poses.items():
        builder.pose(name, dict(pose))
    neutral = NeutralOrientations(tree, joints, settings)
    centers = {body: inertias[body].com for body in inertias if not body.is_static}
    centers |= {body: inertia.com for body, inertia in static.items()}
    light = any(isinstance(joint.type, Free) and motors.at(joint)["armature"] for joint in joints.values())
    reader = SensorReader(document, tree, settings, builder, frames, centers, weighed, body_names, neutral, light)
    for sensor in reader.sensors():
        builder.sensor(sensor)
    robot = with_free_armatures(with_mocap_bodies(builder.finish(), tree, frames, mocap), joints, motors)
    robot = replace(robot, mocap=read_mocap(document, poses, tree, set(mocap.values())))
    if given.medium != "ignore":
        robot = replace(robot, medium=settings.medium)
    robot = with_spring_dampers(robot, joints)
    robot = with_muscle_forces(with_resolved_damping_ratios(with_springs_at_rest(robot, tendons), motors))
    warn_of_stepping(document, robot, joints)
    if motors.left_out or any(actuator.refused for actuator in robot.actuators):
        return robot  # commands and activations of a keyframe are those of all actuators of the file
    commands = read_commands(document, poses, len(robot.actuators))
    return replace(robot, activations=read_activations(document, poses, robot.na), commands=commands)


def _refuse_sections(document: MjcfDocument) -> None:
    refuse_unknown(document.root)
    for section in document.children(document.root):
        if section.tag not in SECTIONS:
            raise not_understood(section, "mujoco")
        if section.tag == "deformable":
            for node in document.children(section):
                if node.tag != "skin":
                    raise node.error("deformable bodies are not supported", UnsupportedFeature)


def _add_bodies(
    builder: LocatedBuilder,
    tree: Tree,
    joints: dict[str, MjcfJoint],
    motors: Motors,
    inertias: dict[Body, Inertia],
    settings: Settings,
) -> set[str | None]:
    """Add all bodies and joints; the names of the bodies, those without mass between joints included."""
    body_names: set[str | None] = set(tree.names.values())
    joint_names: set[str | None] = set(joints)
    for body, name in tree.without_world:
        builder.link(body.node, name, inertias[body], _compensation(body, joints, tree))
        parent, place = tree.names[body.parent or tree.bodies[0]], body.place
        moved_by = [joints[joint] for joint in tree.joint_names[body]]
        for joint in moved_by:
            child = name
            if joint is not moved_by[-1]:
                # Several joints move a body one after the other; between them stand bodies without mass.
                child = fresh(f"{name}_after_{joint.name}", body_names)
                builder.link(joint.node, child, Inertia.zero())
            at = joint.at if isinstance(joint.type, Free) else place * joint.at
            options = joint.options | motors.at(joint)
            if isinstance(joint.type, Free):
                options.pop("armature")  # mass without weight: see `with_free_armatures`
            if not settings.limits:
                options |= {"lower": None, "upper": None}
            builder.joint(joint.node, joint.name, joint.type, parent, child, at, joint.child_at, **options)
            parent, place = child, Placement()
        if not moved_by:
            builder.joint(body.node, fresh(name, joint_names), Fixed(), parent, name, place)
    return body_names


def _compensation(body: Body, joints: dict[str, MjcfJoint], tree: Tree) -> float:
    """The part of a body's weight that is held up, by forces that no actuator has to make."""
    part = body.node.number("gravcomp", 0.0)
    at: Body | None = body
    while part and at is not None and at.parent is not None:
        for joint in (joints[name] for name in tree.joint_names[at]):
            if joint.node.choice("actuatorgravcomp", YES_NO, "false") == "true" and "actuation" in joint.options:
                raise joint.node.error(
                    "gravity compensation that counts against 'actuatorfrcrange' ('actuatorgravcomp') is not supported",
                    UnsupportedFeature,
                )
        at = at.parent
    return part


def _add_sites(
    builder: LocatedBuilder, tree: Tree, settings: Settings, body_names: set[str | None]
) -> tuple[dict[str, tuple[Body, Item]], dict[str, str]]:
    """Named sites become frames, whose names are returned; one with the name of a body is called ``name_site``."""
    sites: dict[str, tuple[Body, Item]] = {}
    frames: dict[str, str] = {}
    named = [(body, item, item.node.get("name")) for body in tree.bodies for item in body.all("site")]
    taken = {*body_names, *(name for _, _, name in named)}
    for body, item, name in named:
        if not name:
            continue
        if name in sites:
            raise item.node.error(f"two sites are called '{name}'; the first is on line {sites[name][1].node.line}")
        sites[name] = body, item
        frames[name] = fresh(f"{name}_site", taken) if name in body_names else name
        place = settings.placement(item.node)
        if item.node.get("fromto") is not None:
            place = size_and_place(item.node, item.node.get("type") or "sphere", settings)[1]
        builder.frame(item.node, frames[name], tree.names[body], item.frame * place)
    body_names.update(frames.values())
    return sites, frames


def _add_obstacles(
    builder: LocatedBuilder,
    places: Places,
    tendons: Mapping[str, MjcfTendon],
    taken: set[str | None],
    frames: dict[str, str],
) -> None:
    """Frames of geoms that tendons wrap around, ``<geom>_center``, among those of sites."""
    for read in tendons.values():
        for name in read.tendon.sites:
            if name.startswith(OF_GEOM) and name not in frames:
                geom = name.removeprefix(OF_GEOM)
                body, item = places.world("geom", geom, read.node)
                frames[name] = fresh(f"{geom}_center", taken)
                builder.frame(item.node, frames[name], places.tree.names[body], places.geom(item, read.node)[2])

# SPDX-License-Identifier: BSD-3-Clause
"""Algorithms with parameters as further inputs, derived from any algorithm.

The first kernel writes arrays that depend on parameters (`parameters`), as work arrays, and runs the algorithm's own on
a tree that has them in place of the plan's (`with_arrays`); further iterations read them there. So every algorithm has
every parameter, in all backends, one robot a lane.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.parameters import (
    add_rigid_inertias,
    begin_actuator_bias,
    begin_actuator_gain,
    begin_anchor_position,
    begin_contact_friction,
    begin_elements,
    begin_friction,
    begin_gains,
    begin_inertias,
    begin_joint_position,
    begin_length,
    begin_motors,
    begin_pair_friction,
    end_elements,
    set_actuator_bias,
    set_actuator_gain,
    set_anchor_position,
    set_armature,
    set_com,
    set_contact_friction,
    set_damping,
    set_friction,
    set_gains,
    set_gravity,
    set_inertia,
    set_inertial_parameters,
    set_joint_position,
    set_length,
    set_mass,
    set_motor_backlash,
    set_motor_delay,
    set_motor_friction,
    set_motor_integral,
    set_motor_network,
    set_motor_no_load,
    set_motor_stall,
    set_motor_stribeck,
    set_pair_friction,
    set_passive,
    set_rest,
    set_stiffness,
    set_time,
)
from linkwork.kernels.scalar import Array, kernel, with_arrays
from linkwork.kernels.shape_parameters import (
    begin_bounded_size,
    begin_contact_size,
    begin_mocap,
    begin_mocap_shapes,
    set_bounded_size,
    set_contact_size,
    set_mocap,
    set_mocap_shapes,
)
from linkwork.plans.parameters import INERTIAL, PASSIVE, parametrized_layout, row_shape


@kernel
def nothing(*arguments: Array) -> None:
    """No work."""


class Writer(NamedTuple):
    """The kernel that writes the arrays that depend on a parameter, and their names."""

    fields: tuple[str, ...]
    """Arrays of the tree that are replaced."""
    write: Callable[..., None]
    """``write(tree, w, x)``: the parameter's numbers."""
    begin: Callable[..., None] = nothing
    """``begin(tree, w)``: numbers as planned, once for all parameters that have this kernel."""
    end: Callable[..., None] = nothing
    """``end(tree, w)``: arrays that follow from all parameters, once as well."""


INERTIAS, ELEMENTS = ("mass", "mc", "I"), ("armature", "damping", "stiffness", "rest")
MOCAP_FRAMES = ("frame_rotation", "frame_position", "pair_axes", "pair_lever", "pair_closed")
WRITERS: Mapping[str, Writer] = {
    "mass": Writer(INERTIAS, set_mass, begin_inertias, add_rigid_inertias),
    "com": Writer(INERTIAS, set_com, begin_inertias, add_rigid_inertias),
    "inertia": Writer(INERTIAS, set_inertia, begin_inertias, add_rigid_inertias),
    "inertial_parameters": Writer(INERTIAS, set_inertial_parameters, begin_inertias),
    "armature": Writer(ELEMENTS, set_armature, begin_elements, end_elements),
    "damping": Writer(ELEMENTS, set_damping, begin_elements, end_elements),
    "stiffness": Writer(ELEMENTS, set_stiffness, begin_elements, end_elements),
    "rest": Writer(ELEMENTS, set_rest, begin_elements, end_elements),
    "gravity": Writer(("gravity",), set_gravity),
    "time": Writer(("time",), set_time),
    "joint_position": Writer(("p",), set_joint_position, begin_joint_position),
    "anchor_position": Writer(("frame_position", "pair_lever"), set_anchor_position, begin_anchor_position),
    "length": Writer(("pair_size",), set_length, begin_length),
    "gains": Writer(("kp", "kd"), set_gains, begin_gains),
    "actuator_gain": Writer(("actuator_gain",), set_actuator_gain, begin_actuator_gain),
    "actuator_bias": Writer(("actuator_bias",), set_actuator_bias, begin_actuator_bias),
    "friction": Writer(("box_lower", "box_upper"), set_friction, begin_friction),
    "motor_stall": Writer(("motor",), set_motor_stall, begin_motors),
    "motor_no_load": Writer(("motor",), set_motor_no_load, begin_motors),
    "motor_friction": Writer(("motor",), set_motor_friction, begin_motors),
    "motor_stribeck": Writer(("motor",), set_motor_stribeck, begin_motors),
    "motor_integral": Writer(("motor",), set_motor_integral, begin_motors),
    "motor_delay": Writer(("motor",), set_motor_delay, begin_motors),
    "motor_backlash": Writer(("motor",), set_motor_backlash, begin_motors),
    "motor_network": Writer(("motor",), set_motor_network, begin_motors),
    "contact_friction": Writer(("friction",), set_contact_friction, begin_contact_friction),
    "contact_size": Writer(("shape_size",), set_contact_size, begin_contact_size),
    "mocap": Writer(MOCAP_FRAMES, set_mocap, begin_mocap),
}
"""The functions that turn parameters into arrays of the tree."""

BOUNDS = ("shape_radius", "box_half", "body_radius", "node_radius")
BOUNDED_SIZE = Writer(("shape_size", *BOUNDS), set_bounded_size, begin_bounded_size)
"""Sizes of shapes in layouts that find near pairs by bounding spheres."""

MOCAP_SHAPES = Writer((*MOCAP_FRAMES, "shape_rotation", "shape_position"), set_mocap_shapes, begin_mocap_shapes)
"""Mocap bodies in layouts that have shapes, too."""

PAIR_FRICTION = Writer(("pair_friction",), set_pair_friction, begin_pair_friction)
"""The friction of contacts in layouts that have it by pairs, with other directions than sliding."""


def writer_of(name: str, algorithm: Algorithm) -> Writer:
    """The writer of a parameter for the arrays of the tree that an algorithm reads."""
    if name == "mocap" and "shape_rotation" in algorithm.layout.shapes:
        return MOCAP_SHAPES
    if name == "contact_size" and "shape_radius" in algorithm.layout.shapes:
        return BOUNDED_SIZE
    by_pairs = name == "contact_friction" and "pair_friction" in algorithm.layout.shapes
    return PAIR_FRICTION if by_pairs else WRITERS[name]


def parameter_start(algorithm: Algorithm) -> int:
    """The position of parameters among the inputs of an algorithm: last, but before ``settings``."""
    names = list(algorithm.inputs)
    return len(names) - (names[-1:] == ["settings"])


@cache
def parametrized(algorithm: Algorithm, names: tuple[str, ...]) -> Algorithm:
    """An algorithm with these parameters as further inputs.

    Its name says which, and so does that of its layout (`plans.parameters`).
    """
    layout = parametrized_layout(algorithm.layout, names)
    writers = tuple(writer_of(name, algorithm) for name in names)
    fields = tuple(dict.fromkeys(field for writer in writers for field in writer.fields))
    replaced = tuple((field, f"tree_{field}") for field in fields)
    steps = bool(set(names) & set(PASSIVE)) and "passive" in algorithm.inputs
    first, count = parameter_start(algorithm), len(names)
    last, passive = first + count, list(algorithm.inputs).index("passive") if steps else 0
    write = _written(writers)

    def on_tree(text: Callable[..., None]) -> Callable[..., None]:
        """The code on the tree, and the passive elements, that were written."""

        @kernel
        def with_tree(tree: Array, w: Array, *arrays: Array) -> None:
            text(with_arrays(tree, w, replaced), w, *arrays[:first], *arrays[last:])

        @kernel
        def with_elements(tree: Array, w: Array, *arrays: Array) -> None:
            before, after = arrays[:passive], arrays[passive + 1 : first]
            text(with_arrays(tree, w, replaced), w, *before, w.passive_elements, *after, *arrays[last:])

        return with_elements if steps else with_tree

    begun = on_tree(algorithm.text)

    @kernel
    def on_parameters(tree: Array, w: Array, *arrays: Array) -> None:
        write(tree, w, *arrays[first:last])
        begun(tree, w, *arrays)

    @kernel
    def on_elements(tree: Array, w: Array, *arrays: Array) -> None:
        write(tree, w, *arrays[first:last])
        set_passive(tree, w, arrays[passive])
        begun(tree, w, *arrays)

    items = list(algorithm.inputs.items())
    inputs = dict([*items[:first], *((name, row_shape(name)) for name in names), *items[first:]])
    work: dict[str, Shape] = {name: layout.floats[field] for field, name in replaced}
    if set(names) & set(INERTIAL):
        work |= {"rigid_m": ("nrigid",), "rigid_c": ("nrigid", 3), "rigid_J": ("nrigid", 6)}
    if "mocap" in names:
        work |= {"mocap_Q": (3, 3), "mocap_R": ("mocap_count", 3, 3)}
    if set(names) & set(PASSIVE):
        work |= {"damping": ("nv",), "stiffness": ("nv",), "rest": ("nv",), "passive_elements": ("nv", 7)}
    return replace(
        algorithm,
        name=f"{algorithm.name}_of_{'_'.join(names)}",
        kernel=on_elements if steps else on_parameters,
        inputs=inputs,
        work={**algorithm.work, **work},
        layout=layout,
        iteration=None if algorithm.iterate is None else on_tree(algorithm.iterate),
        view=None,
        order=None,
        refinement=None if algorithm.refine is None else on_tree(algorithm.refine),
    )


def _written(writers: tuple[Writer, ...]) -> Callable[..., None]:
    """The kernel ``write(tree, w, *parameters)``: all arrays that depend on them."""
    sequence: Callable[..., None] = nothing
    for end in dict.fromkeys(writer.end for writer in reversed(writers)):
        sequence = _then(end, sequence, 0)
    for writer in reversed(writers):
        sequence = _then(writer.write, sequence, 1)
    for begin in dict.fromkeys(writer.begin for writer in reversed(writers)):
        sequence = _then(begin, sequence, 0)
    return sequence


def _then(one: Callable[..., None], others: Callable[..., None], count: int) -> Callable[..., None]:
    """A kernel that takes ``count`` parameters, then the arguments of the others."""

    @kernel
    def both(tree: Array, w: Array, *parameters: Array) -> None:
        one(tree, w, *parameters[:count])
        others(tree, w, *parameters[count:])

    return both

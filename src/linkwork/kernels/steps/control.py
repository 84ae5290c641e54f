# SPDX-License-Identifier: BSD-3-Clause
"""Steps under a controller that is kernel code: torques are computed between steps, in machine code.

A controller reads the time and the state, and writes torques of all joints. It is called every so many steps, with a
zero-order hold in between. The state of a simulation is ``q, v``, the torques of the step that follows and the number
of that step, so that it can be interrupted after any step and resumed to the last bit.

| symbol      | meaning                                                                                      |
|-------------|----------------------------------------------------------------------------------------------|
| tau, tau1   | torques held at the start, and torques of the step that follows the last one                 |
| timing      | as in `steps`; number of the first step; steps from one control to the next; steps until     |
|             | the first control (0: at once); count of steps, from 1 on, from which there is none          |
| shared, own | parameters common to all states, and those of one state, each as a flat array                |
| progress    | as in `steps`, and its count of steps at the next control                                    |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.records import view_records
from linkwork.kernels.scalar import Array, Scalar, any_below, fma, kernel, unpack, where, with_arrays
from linkwork.kernels.steps.clock import FIRST
from linkwork.kernels.steps.contact_steps import CONTACT_STEPS
from linkwork.kernels.steps.integrators import (
    SINGLE_STEPS,
    End,
    Start,
    begin_of,
    copy_state,
    order_of,
    store_state,
)
from linkwork.kernels.steps.reduced_steps import REDUCED_STEPS
from linkwork.kernels.steps.stage_dynamics import DT
from linkwork.plans.layout import Layout

EVERY, WAIT, END = range(FIRST + 1, FIRST + 4)
"""Entries of the timing, after those of `steps`."""

Slot = tuple[int, int, tuple[int, ...]]
"""Where a parameter is: among those shared (0) or own (1), its first number, its shape."""


class Parameters(NamedTuple):
    """Parameters of a controller."""

    shared: Array
    """Numbers that all states share."""
    own: Array
    """Numbers of this state."""


class Control(NamedTuple):
    """The code of a controller, ``text(time, q, v, *parameters, tau)`` or with ``tree`` first, and its parameters."""

    text: Callable[..., None]
    takes_tree: bool
    slots: tuple[Slot, ...]
    shared: int
    """Number of numbers all states share."""
    own: int
    """Number of numbers each state has of its own."""


def torque_kernel(control: Control) -> Callable[..., None]:
    """Kernel code that calls a controller with its parameters; torques that it does not write are zero."""
    text, slots = control.text, control.slots

    @kernel
    def torques(tree: Array, time: Scalar, q: Array, v: Array, shared: Array, own: Array, tau: Array) -> None:
        for k in range(tree.nv):
            tau[k] = 0.0
        text(time, q, v, *unpack((shared, own), slots), tau)

    @kernel
    def torques_of_tree(tree: Array, time: Scalar, q: Array, v: Array, shared: Array, own: Array, tau: Array) -> None:
        for k in range(tree.nv):
            tau[k] = 0.0
        text(tree, time, q, v, *unpack((shared, own), slots), tau)

    return torques_of_tree if control.takes_tree else torques


def controller_torques(control: Control, layout: Layout) -> Algorithm:
    """The torques of a controller at a time and state, by themselves."""
    torques = torque_kernel(control)

    @kernel
    def at_time(tree: Array, w: Array, q: Array, v: Array, time: Array, shared: Array, own: Array, tau: Array) -> None:
        torques(tree, time[0], q, v, shared, own, tau)

    inputs: dict[str, Shape] = {"q": ("nq",), "v": ("nv",), "time": (1,)}
    inputs |= {"shared": (control.shared,), "own": (control.own,)}
    return Algorithm(f"torques_{control.text.__name__}", at_time, inputs, {"tau": ("nv",)}, {}, layout)


def controlled(integrator: str, dynamics: str, control: Control) -> Algorithm:
    """Steps of `steps` under a controller.

    The controller is called at the end of a step, for the one that follows, so that a run can be resumed with its
    torques; and before the first step, if it is due at once.
    """
    one, torques = (SINGLE_STEPS | CONTACT_STEPS | REDUCED_STEPS)[integrator, dynamics], torque_kernel(control)
    step, check_closure = one.text, one.dynamics.coordinates.check_closure
    begin = begin_of(one.dynamics)
    start_clock, timed = one.dynamics.clock.start, one.dynamics.clock.fields

    @kernel
    def view(tree: Array, *arrays: Array) -> tuple[Start, Parameters, End, Array]:
        start, parameters = view_records(tree, arrays, (Start, Parameters))
        q1, v1, tau1, flat, progress = arrays[11:16]
        return start, parameters, End(q1, v1, flat, progress), tau1

    @kernel
    def update_torques(tree: Array, w: Array, timing: Array, parameters: Parameters, end: End, tau: Array) -> None:
        """``tau``: the controller's torques if it is due. Steps that end in NaN are not counted: then it is not."""
        progress = end.progress
        wait = where(progress[1], timing[END], progress[2] - progress[1], 1.0)
        if any_below(wait, 0.5):
            # fma: the product is rounded here, and never fused with operations of the controller
            time = fma(timing[FIRST] + progress[1] - 1.0, timing[DT], 0.0)
            torques(tree, time, end.q, end.v, parameters.shared, parameters.own, w.control)
            for k in range(tree.nv):
                tau[k] = where(wait, 0.5, w.control[k], tau[k])
            progress[2] = where(wait, 0.5, progress[1] + timing[EVERY], progress[2])

    @kernel
    def first(tree: Array, w: Array, start: Start, parameters: Parameters, end: End, tau1: Array) -> None:
        copy_state(tree, start, end)
        for k in range(tree.nv):
            tau1[k] = start.inputs.tau[k]
        begin(tree, start.inputs, end.flat)
        end.progress[2] = 1.0 + start.inputs.timing[WAIT]
        update_torques(tree, w, start.inputs.timing, parameters, end, tau1)

    @kernel
    def iteration(tree: Array, w: Array, start: Start, parameters: Parameters, end: End, tau1: Array) -> None:
        start_clock(w, start.inputs.timing, end.progress, start.inputs.timing[DT])
        step(with_arrays(tree, w, timed), w, end.q, end.v, start.inputs._replace(tau=tau1), end.flat)
        store_state(tree, w, end.q, end.v, end.progress)
        check_closure(w, end.progress)
        update_torques(tree, w, start.inputs.timing, parameters, end, tau1)

    inputs: dict[str, Shape] = one.inputs | {"timing": (6,)}
    inputs |= {"shared": (control.shared,), "own": (control.own,), "settings": (2,)}
    outputs: dict[str, Shape] = {"q1": ("nq",), "v1": ("nv",), "tau1": ("nv",)}
    outputs |= {"result": one.dynamics.result, "progress": (3,)}
    work = one.dynamics.work | one.work | {"control": ("nv",)}
    name = f"{integrator}_{dynamics}_{control.text.__name__}"
    layout, outside = one.dynamics.layout, controller_torques(control, one.dynamics.layout)
    return Algorithm(
        name,
        first,
        inputs,
        outputs,
        work,
        layout,
        iteration,
        one.dynamics.folded,
        view,
        integers=one.dynamics.integers or {},
        outside=outside,
        order=order_of(one.dynamics),
    )

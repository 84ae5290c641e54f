"""Steps under a controller that is kernel text: torques are computed between steps, in machine code.

A controller sees the time and the state, and writes torques of all joints. It is called every so many steps; torques
are held in between. The state of a run is ``q, v``, the torques of the step that follows and the number of that step,
so that it can be interrupted after any step and goes on as it would have, to the last bit.

| symbol      | meaning                                                                                      |
|-------------|----------------------------------------------------------------------------------------------|
| tau, tau1   | torques held at the start, and torques of the step that follows the last one                 |
| clock       | as in `motion`; number of the first step; steps from one control to the next; steps until  |
|             | the first control (0: at once); count of steps, from 1 on, from which there is none          |
| shared, own | parameters that all states share, and those of one state, each as a flat array               |
| progress    | as in `motion`, and its count of steps at the next control                                   |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from linkwork.kernels.algorithm import Algorithm, Shape
from linkwork.kernels.scalar import Array, Scalar, any_below, fma, kernel, unpack, where
from linkwork.kernels.steps import DT, SINGLE_STEPS, clear_found, clear_nothing, leave

FIRST, EVERY, WAIT, LAST = range(2, 6)
"""Entries of the clock, after those of `motion`."""

Place = tuple[int, int, tuple[int, ...]]
"""Where a parameter is: among those shared (0) or own (1), its first number, its shape."""


class Control(NamedTuple):
    """The text of a controller, ``text(time, q, v, *parameters, tau)`` or with ``tree`` first, and its parameters."""

    text: Callable[..., None]
    takes_tree: bool
    places: tuple[Place, ...]
    shared: int
    """How many numbers all states share."""
    own: int
    """How many numbers each state has of its own."""


def torque_text(control: Control) -> Callable[..., None]:
    """Kernel text that calls a controller with its parameters; torques that it does not write are zero."""
    text, places = control.text, control.places

    @kernel
    def torques(tree: Array, time: Scalar, q: Array, v: Array, shared: Array, own: Array, tau: Array) -> None:
        for k in range(tree.nv):
            tau[k] = 0.0
        text(time, q, v, *unpack((shared, own), places), tau)

    @kernel
    def torques_of_tree(tree: Array, time: Scalar, q: Array, v: Array, shared: Array, own: Array, tau: Array) -> None:
        for k in range(tree.nv):
            tau[k] = 0.0
        text(tree, time, q, v, *unpack((shared, own), places), tau)

    return torques_of_tree if control.takes_tree else torques


def controlled(integrator: str, dynamics: str, control: Control) -> Algorithm:
    """Steps of `motion` under a controller.

    The controller is called at the end of a step, for the one that follows, so that an interrupted run knows the
    torques with which it goes on; and before the first step, if it is due at once.
    """
    one, torques = SINGLE_STEPS[integrator, dynamics], torque_text(control)
    step, bound = one.text, one.dynamics.bound
    clear = clear_found if bound else clear_nothing

    @kernel
    def update(
        tree: Array, w: Array, clock: Array, shared: Array, own: Array, q: Array, v: Array, tau: Array, progress: Array
    ) -> None:
        """``tau``: the controller's torques if it is due. Steps that end in NaN are not counted: then it is not."""
        wait = where(progress[1], clock[LAST], progress[2] - progress[1], 1.0)
        if any_below(wait, 0.5):
            # fma: the product is rounded here, and never fused with what the controller does with the time
            time = fma(clock[FIRST] + progress[1] - 1.0, clock[DT], 0.0)
            torques(tree, time, q, v, shared, own, w.control)
            for k in range(tree.nv):
                tau[k] = where(wait, 0.5, w.control[k], tau[k])
            progress[2] = where(wait, 0.5, progress[1] + clock[EVERY], progress[2])

    @kernel
    def first(
        tree: Array,
        w: Array,
        q: Array,
        v: Array,
        tau: Array,
        u: Array,
        wrenches: Array,
        law: Array,
        regularization: Array,
        clock: Array,
        shared: Array,
        own: Array,
        settings: Array,
        q1: Array,
        v1: Array,
        tau1: Array,
        found: Array,
        progress: Array,
    ) -> None:
        for k in range(tree.nq):
            q1[k] = q[k]
        for k in range(tree.nv):
            v1[k] = v[k]
            tau1[k] = tau[k]
        clear(tree, found)
        progress[0] = 1.0
        progress[1] = 1.0
        progress[2] = 1.0 + clock[WAIT]
        update(tree, w, clock, shared, own, q1, v1, tau1, progress)

    @kernel
    def iterate(
        tree: Array,
        w: Array,
        q: Array,
        v: Array,
        tau: Array,
        u: Array,
        wrenches: Array,
        law: Array,
        regularization: Array,
        clock: Array,
        shared: Array,
        own: Array,
        settings: Array,
        q1: Array,
        v1: Array,
        tau1: Array,
        found: Array,
        progress: Array,
    ) -> None:
        step(tree, w, q1, v1, tau1, u, wrenches, law, regularization, clock, found)
        leave(tree, w, q1, v1, progress)
        update(tree, w, clock, shared, own, q1, v1, tau1, progress)

    inputs: dict[str, Shape] = one.inputs | {"clock": (6,)}
    inputs |= {"shared": (control.shared,), "own": (control.own,), "settings": (2,)}
    outputs: dict[str, Shape] = {"q1": ("nq",), "v1": ("nv",), "tau1": ("nv",)}
    outputs |= {"found": ("nresult",) if bound else (0,), "progress": (3,)}
    work = one.dynamics.work | one.work | {"control": ("nv",)}
    name = f"{integrator}_{dynamics}_{control.text.__name__}"
    return Algorithm(name, first, inputs, outputs, work, one.dynamics.layout, iterate, one.dynamics.folded)

# SPDX-License-Identifier: BSD-3-Clause
"""Options of steps have one name everywhere; names that they had before are errors that say the new one."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import linkwork as lw
from linkwork import zoo
from linkwork.plans.contact_reduced import TOTALS

ARM = zoo.serial_chain(2)
BOX = zoo.sliding_box()
Q = np.zeros(2)

OLD = {"iterations": "max_iterations", "contact_iterations": "max_iterations", "contact_tolerance": "tolerance"}


@pytest.mark.parametrize("old", OLD)
@pytest.mark.parametrize("name", ["simulate", "rollouts", "Simulation", "Stepper"])
def test_an_old_name_is_an_error_that_says_the_new_one(name: str, old: str) -> None:
    calls: dict[str, Any] = {
        "simulate": lambda **options: lw.simulate(ARM, seconds=0.01, **options),
        "rollouts": lambda **options: lw.rollouts(ARM, Q[None], seconds=0.01, **options),
        "Simulation": lambda **options: lw.Simulation(ARM, 2, **options),
        "Stepper": lambda **options: lw.Stepper(ARM, **options),
    }
    with pytest.raises(lw.errors.UnknownOption, match=f"{name} has no option '{old}': it is '{OLD[old]}' now"):
        calls[name](**{old: 1})


def test_the_time_constant_of_contacts_has_one_name() -> None:
    with pytest.raises(lw.errors.UnknownOption, match="no option 'stabilization': it is 'time_constant' now"):
        lw.contact.ContactStep(BOX, stabilization=0.01)  # type: ignore[call-arg]
    assert lw.contact.ContactStep(BOX, time_constant=None).options.time_constant is None


def test_the_time_of_a_step_comes_before_the_integrator() -> None:
    stepper = lw.Stepper(ARM, 2e-3, "rk4")
    assert (stepper.dt, stepper.integrator) == (2e-3, "rk4")
    with pytest.raises(lw.errors.InputError, match=r"dt is 'rk4', needs a number: Stepper\(robot, 1e-3, 'rk4'\)"):
        lw.Stepper(ARM, "rk4", 1e-3)  # type: ignore[arg-type]


def test_the_tolerance_of_contacts_is_not_the_accuracy_of_steps() -> None:
    with pytest.raises(lw.errors.InputError, match=r"tolerance is that of steps with contacts.*dopri5 are is accuracy"):
        lw.simulate(ARM, seconds=0.01, integrator="dopri5", tolerance=1e-6)
    run = lw.simulate(ARM, [0.1, 0.2], seconds=0.01, integrator="dopri5", accuracy=1e-6)
    assert run.settings["accuracy"] == 1e-6


def test_a_file_of_an_earlier_version_goes_on_as_it_did(tmp_path: Path) -> None:
    """Its settings have the names of then."""
    how: dict[str, Any] = {"integrator": "dopri5", "accuracy": 1e-6, "record_every": 10}
    run = lw.simulate(ARM, [0.5, 0.2], seconds=0.1, **how)
    path = run.save(tmp_path / "run.npz")
    with np.load(path) as file:
        arrays = dict(file)
    about = json.loads(str(arrays["about"]))
    about["format"], about["settings"]["tolerance"] = 1, about["settings"].pop("accuracy")
    np.savez(path, **(arrays | {"about": np.array(json.dumps(about))}))
    kept = lw.Trajectory.load(path, ARM)
    np.testing.assert_array_equal(kept.resume(5, seconds=0.05).q, run.q[5:])
    assert kept.settings == run.settings


@pytest.mark.parametrize("known", [True, False])
def test_a_file_with_contacts_by_slots_goes_on_as_it_did(tmp_path: Path, known: bool) -> None:
    """Rows of format 2: five totals, solver, forces, velocities and gaps of all contact points, limits and friction."""
    run = lw.simulate(BOX, v=[1.0, 0.2, 0.0, 0.0, 0.0, 0.3], seconds=0.02)
    path = run.save(tmp_path / "run.npz")
    with np.load(path) as file:
        arrays = dict(file)
    about, rows, n = json.loads(str(arrays["about"])), arrays["contact_state"], len(run.times)
    (pair,) = run.contacts.values()
    parts = (pair.forces.reshape(n, -1), pair.velocities.reshape(n, -1), np.where(np.isinf(pair.gaps), 1e10, pair.gaps))
    about["format"], arrays["contact_state"] = (
        2,
        np.concatenate([rows[:, :5], rows[:, TOTALS : TOTALS + 2], *parts], -1),
    )
    np.savez(path, **(arrays | {"about": np.array(json.dumps(about))}))
    if not known:  # kept without its robot, and saved once more
        lw.Trajectory.load(path).save(path)
    kept = lw.Trajectory.load(path, BOX)
    assert kept.settings == run.settings
    np.testing.assert_array_equal(kept.contacts.forces, run.contacts.forces)
    np.testing.assert_array_equal(kept.contacts.residual, run.contacts.residual)
    np.testing.assert_array_equal(kept.contacts.iterations, run.contacts.iterations)
    np.testing.assert_allclose(kept.resume(10, seconds=0.01).v, run.v[10:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [lw.Stepper, lw.contact.ContactStep])
def test_steps_by_slots_stay_so_when_pickled(kind: Any) -> None:
    step = kind(BOX).by_slots
    again = pickle.loads(pickle.dumps(step))
    assert not again.reduced and again.program.algorithm.name == step.program.algorithm.name
    assert pickle.loads(pickle.dumps(kind(BOX))).reduced


def test_a_stepper_under_a_controller_can_be_pickled() -> None:
    controller = lw.Controller(hold, gain=2.0)
    stepper = lw.Stepper(ARM).controlled(controller.control, 3)
    again = pickle.loads(pickle.dumps(stepper))
    assert again.planned.control == controller.control and again.planned.control_every == 3


@lw.kernel
def hold(time, q, v, gain, tau):
    """Pull back to zero."""
    tau[0] = -gain * q[0]
    tau[1] = -gain * q[1]

# SPDX-License-Identifier: BSD-3-Clause
"""Settings of MuJoCo's steps that change the motion and that steps here do not have: each is a warning.

With ``contact="soft"`` steps are those of the integrator ``implicitfast``.

| in the file                      | warning where                     | in steps here                         |
|----------------------------------|-----------------------------------|---------------------------------------|
| ``integrator="RK4"``             | always                            | ``rk4`` where nothing touches         |
| ``integrator="implicit"``        | always                            | no derivatives of Coriolis forces     |
| ``integrator="Euler"``           | servos or tendons are damped      | all dampers are implicit              |
| ``eulerdamp="disable"``          | anything is damped                | all dampers are implicit              |
| ``refsafe="disable"``            | there are contacts or limits      | time constants are two steps at least |
| ``noslip_iterations``            | there are contacts                | contacts slip by their softness       |
| ``actuatorgravcomp`` of a joint  | bodies have ``gravcomp``          | compensation is a passive force       |
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from linkwork.model.model import Model
from linkwork.parsing.mjcf.document import MjcfDocument
from linkwork.parsing.mjcf.joints import MjcfJoint
from linkwork.parsing.mjcf.settings import YES_NO
from linkwork.parsing.xml import warn

_STEPS = "integrator {0} is not used: with contact='soft' steps are those of MuJoCo's implicitfast"
_INTEGRATORS = {
    "RK4": f"{_STEPS}; without contacts, simulate(integrator='rk4') is it",
    "implicit": f"{_STEPS}, which has no derivatives of Coriolis forces",
    "Euler": f"{_STEPS}, in which dampers of servos and tendons are implicit, too",
}


def warn_of_stepping(document: MjcfDocument, robot: Model, joints: Mapping[str, MjcfJoint]) -> None:
    """Warn of settings of steps that are not used.

    Args:
        document: The file.
        robot: Its mechanism.
        joints: Its joints.
    """
    elsewhere = any(tendon.damping or any(tendon.damping_terms) for tendon in robot.tendons)
    elsewhere = elsewhere or any(actuator.bias[2] or actuator.gain[2] for actuator in robot.actuators)
    damped = elsewhere or any(joint.damping.any() for joint in robot.joints)
    soft = bool(robot.contacts) or bool(np.isfinite([*robot.lower, *robot.upper]).any())
    for option in document.children(document.root, "option"):
        integrator = option.get("integrator") or ""
        if integrator in _INTEGRATORS and (integrator != "Euler" or elsewhere):
            warn(option, _INTEGRATORS[integrator].format(integrator))
        if option.number("noslip_iterations", 0.0) > 0 and robot.contacts:
            warn(option, "noslip_iterations are not used: soft contacts slip by their softness, exact ones do not")
    for flag in document.inside("option", "flag"):
        if flag.get("eulerdamp") == "disable" and damped:
            warn(flag, "eulerdamp='disable' is not used: dampers are implicit")
        if flag.get("refsafe") == "disable" and soft:
            warn(flag, "refsafe='disable' is not used: time constants of soft contacts are two steps at least")
    for joint in joints.values():
        if robot.gravity_compensation and joint.node.choice("actuatorgravcomp", YES_NO, "false") == "true":
            what = "gravity compensation is a passive force here, which actuator_torques and sensors leave out"
            warn(joint.node, f"'actuatorgravcomp': {what}")

# SPDX-License-Identifier: BSD-3-Clause
"""The vocabulary of MJCF: attributes that this package reads, and those that do not change the dynamics.

Anything else could change them, and is an `UnsupportedFeature`. The lists are those of MuJoCo 4.0, with what older
versions had.
"""

from __future__ import annotations

from linkwork.errors import UnsupportedFeature
from linkwork.parsing.xml import Node


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


_PLACE = "pos quat axisangle euler xyaxes zaxis"
_EQUALITY = "name class active solref solimp"
_TENDON = (
    "name class group limited range margin width material rgba user stiffness damping frictionloss springlength "
    "springyield armature actuatorfrclimited actuatorfrcrange solreflimit solimplimit solreffriction solimpfriction"
)

SECTIONS = _words(
    "compiler option default asset worldbody deformable tendon equality actuator keyframe",
    "size statistic visual custom extension contact sensor",
)

# In each list the first line is what is read, the others what does not matter for the dynamics.

IN_BODY = _words(
    "body frame inertial joint freejoint geom site",
    "camera light",
)

ACTUATORS = _words(
    "general motor position velocity intvelocity orientation pid damper cylinder muscle adhesion dcmotor plugin"
)
"""Kinds of actuators; they share one set of defaults."""

IN_DEFAULT = ACTUATORS | _words(
    "joint geom site equality tendon",
    "mesh texture material camera light pair skin",
)

_ATTRIBUTES: dict[str, frozenset[str]] = {
    "mujoco": _words("model"),
    "compiler": _words(
        "angle coordinate eulerseq autolimits alignfree inertiafromgeom inertiagrouprange boundmass boundinertia "
        "settotalmass balanceinertia fusestatic",
        "assetdir conflict convexhull discardvisual exactmeshinertia fitaabb meshdir passthrough savecanonical",
        "savecompiled saveinertial strippath texturedir usethread",
    ),
    "option": _words(
        "gravity density viscosity",
        "actuatorgroupdisable apirate ccd_iterations ccd_tolerance collision cone impratio integrator iterations",
        "jacobian ls_iterations ls_tolerance magnetic mpr_iterations mpr_tolerance noslip_iterations noslip_tolerance",
        "o_friction o_margin o_solimp o_solref sdf_initpoints sdf_iterations sleep_tolerance solver timestep tolerance",
        "wind",
    ),
    "body": _words(
        f"name childclass mocap gravcomp {_PLACE}",
        "fuse simple sleep user",
    ),
    "frame": _words(
        f"childclass scale massscale {_PLACE}",
        "name scaling",
    ),
    "inertial": _words(f"mass diaginertia fullinertia {_PLACE}"),
    "joint": _words(
        "name class type pos axis range limited ref springref springdamper stiffness damping frictionloss armature "
        "actuatorfrclimited actuatorfrcrange",
        "actuatorgravcomp group margin solimpfriction solimplimit solreffriction solreflimit springyield user",
    ),
    "freejoint": _words("name align", "group"),
    "geom": _words(
        f"name class type size fromto mass density shellinertia group mesh {_PLACE}",
        "adhesion castshadow conaffinity condim contype fitscale fluidcoef fluidshape friction gap hfield margin",
        "material priority rgba solimp solmix solref surfacevel user",
    ),
    "connect": _words(f"body1 body2 anchor site1 site2 {_EQUALITY}"),
    "weld": _words(f"body1 body2 anchor relpose site1 site2 torquescale {_EQUALITY}"),
    "joint equality": _words(f"joint1 joint2 polycoef {_EQUALITY}"),
    "tendon equality": _words(f"tendon1 tendon2 polycoef {_EQUALITY}"),
    "tendon": _words(_TENDON),
}


def refuse_unknown(node: Node, kind: str | None = None) -> None:
    """Raise for an attribute that is not known in this kind of element (default: its tag)."""
    for name in node.attributes:
        if name not in _ATTRIBUTES.get(kind or node.tag, (name,)):
            raise node.error(
                f"attribute '{name}' of <{node.tag}> is not understood, and it could change the dynamics",
                UnsupportedFeature,
            )


def not_understood(node: Node, around: str) -> Exception:
    """The error for an element that is not known in its place."""
    return node.error(
        f"<{node.tag}> inside <{around}> is not understood, and it could change the dynamics; if it does not, remove "
        "it from the file",
        UnsupportedFeature,
    )

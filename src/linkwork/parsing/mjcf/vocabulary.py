# SPDX-License-Identifier: BSD-3-Clause
"""The vocabulary of MJCF: attributes that this package reads, and those that do not change the dynamics.

Anything else could change them, and is an `UnsupportedFeature`. The lists are those of MuJoCo 4.0, with what older
versions had.
"""

from __future__ import annotations

from collections.abc import Mapping

from linkwork.errors import UnsupportedFeature
from linkwork.parsing.xml import Node


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


_PLACE = "pos quat axisangle euler xyaxes zaxis"
_EQUALITY = "name class active solref solimp"
_LIMITS = "solreflimit solimplimit solreffriction solimpfriction"

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

_TENDON = (
    f"name class limited range margin stiffness damping frictionloss springlength springyield armature {_LIMITS} "
    "actuatorfrclimited actuatorfrcrange",
    "group width material rgba user",
)
_ACTUATOR = (
    "name class group joint jointinparent tendon site refsite body cranksite slidersite cranklength gear armature "
    "damping ctrllimited ctrlrange forcelimited forcerange actlimited actrange lengthrange delay nsample interp",
    "user",
)
_OWN = {
    "general": "dyntype gaintype biastype dynprm gainprm biasprm actearly inheritrange",
    "position": "kp kv dampratio timeconst inheritrange",
    "velocity": "kv",
    "intvelocity": "kp kv dampratio inheritrange",
    "pid": "kp kv dampratio ki imax slewmax input posrange velrange ffrange inheritrange",
    "damper": "kv",
    "cylinder": "timeconst area diameter bias",
    "muscle": "timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax",
    "adhesion": "gain",
    "dcmotor": "resistance motorconst nominal saturation controller inductance thermal cogging lugre input",
}
"""Attributes of one kind of actuators alone that are read."""
_REFUSED = {
    "orientation": "input kp kv dampratio",
    "plugin": "plugin instance dyntype dynprm actdim actearly",
}
"""Attributes of actuators that take no commands."""

_ATTRIBUTES: Mapping[str, tuple[str, str]] = {
    "mujoco": ("model", ""),
    "compiler": (
        "angle coordinate eulerseq autolimits alignfree inertiafromgeom inertiagrouprange boundmass boundinertia "
        "settotalmass balanceinertia fusestatic exactmeshinertia fitaabb assetdir meshdir",
        "conflict convexhull discardvisual passthrough savecanonical savecompiled saveinertial strippath texturedir "
        "usethread",
    ),
    "option": (
        "gravity density viscosity wind magnetic impratio cone collision actuatorgroupdisable timestep o_friction "
        "o_margin o_solimp o_solref",
        "apirate ccd_iterations ccd_tolerance integrator iterations jacobian ls_iterations ls_tolerance "
        "mpr_iterations mpr_tolerance noslip_iterations noslip_tolerance sdf_initpoints sdf_iterations "
        "sleep_tolerance solver tolerance",
    ),
    "flag": (
        "gravity constraint equality limit frictionloss spring damper passive actuation clampctrl contact filterparent "
        "override",
        "autoreset diagexact energy eulerdamp fwdinv invdiscrete ipc island midphase multiccd nativeccd refsafe sensor "
        "sensornoise sleep speculative warmstart",
    ),
    "body": (f"name childclass mocap gravcomp {_PLACE}", "fuse simple sleep user"),
    "frame": (f"childclass scale massscale {_PLACE}", "name scaling"),
    "inertial": (f"mass diaginertia fullinertia {_PLACE}", ""),
    "joint": (
        "name class type pos axis range limited ref springref springdamper springyield stiffness damping frictionloss "
        f"armature actuatorfrclimited actuatorfrcrange actuatorgravcomp margin {_LIMITS}",
        "group user",
    ),
    "freejoint": ("name align", "group"),
    "geom": (
        f"name class type size fromto mass density shellinertia group mesh hfield material rgba fitscale {_PLACE} "
        "contype conaffinity condim priority friction margin gap solmix solref solimp surfacevel adhesion fluidshape "
        "fluidcoef",
        "castshadow user",
    ),
    "attach": ("model body frame prefix", ""),
    "replicate": ("count sep offset euler", ""),
    "site": (f"name class type size fromto mesh {_PLACE}", "group material rgba user"),
    "mesh": (
        "name class file vertex face scale refpos refquat inertia maxhullvert builtin",
        "content_type material normal params smoothnormal texcoord",
    ),
    "pair": ("name class geom1 geom2 condim friction margin gap solref solreffriction solimp adhesion", ""),
    "exclude": ("body1 body2", "name"),
    "connect": (f"body1 body2 anchor site1 site2 {_EQUALITY}", ""),
    "weld": (f"body1 body2 anchor relpose site1 site2 torquescale {_EQUALITY}", ""),
    "joint equality": (f"joint1 joint2 polycoef {_EQUALITY}", ""),
    "tendon equality": (f"tendon1 tendon2 polycoef {_EQUALITY}", ""),
    "tendon": _TENDON,
    "joint of a tendon": ("joint coef", ""),
    "site of a tendon": ("site", ""),
    "geom of a tendon": ("geom sidesite", ""),
    "pulley of a tendon": ("divisor", ""),
    "key": ("name qpos qvel act ctrl mpos mquat", "time plastic"),
    "sensor": (
        "name site camera joint tendon actuator body objtype objname reftype refname data cutoff noise delay interval "
        "nsample enclosed",
        "interp user",
    ),
    "general": (f"{_ACTUATOR[0]} {_OWN['general']}", f"{_ACTUATOR[1]} actdim input velrange ffrange"),
    **{kind: (f"{_ACTUATOR[0]} {own}", _ACTUATOR[1]) for kind, own in _OWN.items() if kind != "general"},
    **{kind: (_ACTUATOR[0], f"{_ACTUATOR[1]} {own}") for kind, own in _REFUSED.items()},
    "motor": _ACTUATOR,
}
"""By kind of element: attributes that are read, and those without effect on the dynamics."""

READ = {kind: _words(read) for kind, (read, _) in _ATTRIBUTES.items()}
"""Attributes that are read, by kind of element."""
WITHOUT_EFFECT = {kind: _words(other) for kind, (_, other) in _ATTRIBUTES.items()}
"""Attributes that do not change the dynamics, by kind of element."""


def refuse_unknown(node: Node, kind: str | None = None) -> None:
    """Raise for an attribute that is not known in this kind of element (default: its tag)."""
    kind = kind or node.tag
    for name in node.attributes:
        if kind in READ and name not in READ[kind] | WITHOUT_EFFECT[kind]:
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

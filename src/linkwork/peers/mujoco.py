# SPDX-License-Identifier: BSD-3-Clause
"""MuJoCo's models and specs as mechanisms.

A compiled model has everything resolved: no classes, no angles in degrees, inertias about principal axes. It is written
down as MJCF again, without what has no dynamics, and read as any MJCF file is, so that there is one text that says what
MuJoCo's elements mean. States move across by `mujoco_map`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from lxml import etree

from linkwork.errors import InputError, ModelWarning, UnsupportedFeature
from linkwork.mechanism import Mechanism
from linkwork.model.arrays import Floats
from linkwork.parsing import loads
from linkwork.parsing.mjcf import MujocoMap, mujoco_map
from linkwork.parsing.options import Contacts, Inertias
from linkwork.peers.mujoco_actuators import ActuatorWriter
from linkwork.peers.mujoco_assets import write_assets, z_axis
from linkwork.peers.mujoco_assets import written_numbers as _numbers
from linkwork.peers.mujoco_sensors import SensorWriter

__all__ = ["MujocoMap", "from_mujoco", "mjcf_of", "mujoco_map"]

_JOINTS = ("free", "ball", "slide", "hinge")
_GEOMS = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
_NO_SOLIDS = ("sdf", "other")  # a compiled model does not say their shape in numbers
_OVERRIDES = ("o_margin", "o_friction", "o_solref", "o_solimp")
_OPTIONS = ("gravity", "density", "viscosity", "wind", "timestep", "magnetic", "impratio", *_OVERRIDES)


def from_mujoco(model: Any, *, inertias: Inertias = "warn", contacts: Contacts = None) -> Mechanism:
    """A mechanism from a model of MuJoCo, with its loops, actuators, sensors and contacts.

    Args:
        model: A ``mujoco.MjModel`` or ``mujoco.MjSpec``.
        inertias: As for `load`.
        contacts: As for `load`.
    """
    if hasattr(model, "to_xml"):
        model = model.copy().compile() if hasattr(model, "copy") else model.compile()
    if not hasattr(model, "body_parentid"):
        raise InputError(
            f"from_mujoco takes a mujoco.MjModel or a mujoco.MjSpec, not {type(model).__name__}; lw.load reads files"
        )
    text = mjcf_of(model)
    return loads(text, "mjcf", inertias=inertias, contacts=contacts, name="MuJoCo's model")


def mjcf_of(model: Any) -> str:
    """A compiled model of MuJoCo as MJCF: bodies, joints, primitive shapes, equalities, tendons, actuators, keyframes.

    Args:
        model: A ``mujoco.MjModel``.
    """
    return _Writer(model).text()


class _Writer:
    """One model, written element by element."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.elements: dict[tuple[str, int], Any] = {}
        """Names that are written so far, by kind and number."""
        self.elevations: dict[int, float] = {}
        """The lowest point of each height field."""
        self.left_out: dict[str, None] = {}
        """Elements without dynamics;"""
        self.not_touching: list[str] = []
        """geoms whose contacts are lost;"""
        self.not_driven: list[str] = []
        """actuators whose transmission is not known."""

    def text(self) -> str:
        """The document."""
        if self.model.nflex:
            raise UnsupportedFeature("the model has flexes: deformable bodies are not supported")
        root = etree.Element("mujoco", model=self._model_name())
        etree.SubElement(root, "compiler", angle="radian", autolimits="false", inertiafromgeom="false", boundmass="0")
        self._option(root)
        write_assets(self.model, root, self.add, self.elevations)
        world = etree.SubElement(root, "worldbody")
        elements = {0: world}
        for k in range(1, self.model.nbody):
            elements[k] = self._body(elements[int(self.model.body_parentid[k])], k)
        for k in range(self.model.ngeom):
            self._geom(elements[int(self.model.geom_bodyid[k])], k)
        for k in range(self.model.nsite):
            at = self._place(self.model.site_pos[k], self.model.site_quat[k])
            kind, size = _GEOMS[int(self.model.site_type[k])], _numbers(self.model.site_size[k])
            self.add(elements[int(self.model.site_bodyid[k])], "site", "site", k, type=kind, size=size, **at)
        self._contacts(root)
        self._tendons(root)
        self._equalities(root)
        self.not_driven = ActuatorWriter(self).write(root)
        SensorWriter(self.model, self.name, elements).write(root)
        keys = etree.SubElement(root, "keyframe")
        for k in range(self.model.nkey):
            counts = {"act": "na", "ctrl": "nu", "mpos": "nmocap", "mquat": "nmocap"}
            names = [name for name, count in counts.items() if getattr(self.model, count)]
            state = {name: _numbers(getattr(self.model, f"key_{name}")[k]) for name in ("qpos", *names)}
            self.add(keys, "key", "key", k, **state)
        self._warn()
        return str(etree.tostring(root, pretty_print=True, encoding="unicode"))

    def _warn(self) -> None:
        """Warn of elements that the mechanism will not have."""
        said = []
        if self.left_out:
            said.append(f"{', '.join(self.left_out)}: no dynamics here, left out")
        if self.not_touching:
            said.append(
                f"contacts of {_listed(self.not_touching)} are left out: a compiled model does not have their shapes"
            )
        if self.not_driven:
            said.append(f"actuators {_listed(self.not_driven)} are left out: their transmission is not known")
        for one in said:
            warnings.warn(one, ModelWarning, stacklevel=5)

    def _option(self, root: Any) -> None:
        """Gravity and other global options, and disabled features."""
        import mujoco

        settings = self.model.opt
        numbers = {name: _numbers(getattr(settings, name)) for name in _OPTIONS}
        groups = " ".join(str(k) for k in range(31) if int(settings.disableactuator) >> k & 1)
        cone = "pyramidal" if int(settings.cone) == int(mujoco.mjtCone.mjCONE_PYRAMIDAL) else "elliptic"
        named = {"cone": cone} | ({"actuatorgroupdisable": groups} if groups else {})
        option = etree.SubElement(root, "option", **numbers, **named)
        flag = etree.SubElement(option, "flag", override="enable" if int(settings.enableflags) & 1 else "disable")
        for name, bit in mujoco.mjtDisableBit.__members__.items():
            if name.startswith("mjDSBL_") and int(settings.disableflags) & int(bit):
                flag.set(name.removeprefix("mjDSBL_").lower(), "disable")

    def _model_name(self) -> str:
        names = bytes(self.model.names)
        return names[: names.index(b"\0")].decode() or "robot"

    def add(self, parent: Any, tag: str, kind: str, k: int, **attributes: str) -> Any:
        """An element with the name that the model has for it, if it has one."""
        name = getattr(self.model, kind)(k).name
        element = etree.SubElement(parent, tag, **({"name": name} if name else {}), **attributes)
        self.elements[kind, k] = element
        return element

    def name(self, kind: str, k: int) -> str:
        """The name of an element that another refers to; one without gets it now."""
        if (kind, k) == ("body", 0):
            return "world"
        element = self.elements[kind, k]
        if "name" not in element.attrib:
            taken = {other.get("name") for (same, _), other in self.elements.items() if same == kind}
            free = next(n for n in (f"{kind}{k}" + "_" * i for i in range(len(taken) + 1)) if n not in taken)
            element.set("name", free)
        return str(element.get("name"))

    @staticmethod
    def _place(pos: Floats, quat: Floats) -> dict[str, str]:
        return {"pos": _numbers(pos), "quat": _numbers(quat)}

    # Bodies ----------------------------------------------------------------------------------------

    def _body(self, parent: Any, k: int) -> Any:
        m = self.model
        if m.body_plugin[k] >= 0:
            raise UnsupportedFeature(f"body '{m.body(k).name}' has a plugin, which is not supported")
        at = self._place(m.body_pos[k], m.body_quat[k])
        body = self.add(parent, "body", "body", k, **at)
        if m.body_mocapid[k] >= 0:
            body.set("mocap", "true")
        if m.body_gravcomp[k]:
            body.set("gravcomp", repr(float(m.body_gravcomp[k])))
        first = int(m.body_jntadr[k])
        for j in range(first, first + int(m.body_jntnum[k])):
            self._joint(body, j)
        if m.body_mass[k] > 0 or m.body_inertia[k].any():
            etree.SubElement(
                body,
                "inertial",
                mass=repr(float(m.body_mass[k])),
                diaginertia=_numbers(m.body_inertia[k]),
                **self._place(m.body_ipos[k], m.body_iquat[k]),
            )
        return body

    def _joint(self, body: Any, j: int) -> None:
        m = self.model
        kind, dof, at = _JOINTS[int(m.jnt_type[j])], int(m.jnt_dofadr[j]), int(m.jnt_qposadr[j])
        joint = self.add(body, "joint", "joint", j, type=kind)
        joint.set("armature", repr(float(m.dof_armature[dof])))
        joint.set("damping", self.polynomial("dof_damping", dof))
        joint.set("frictionloss", repr(float(m.dof_frictionloss[dof])))
        for name in ("solref", "solimp"):
            joint.set(f"{name}friction", _numbers(getattr(m, f"dof_{name}")[dof]))
        joint.set("stiffness", self.polynomial("jnt_stiffness", j))
        if np.any(getattr(m, "jnt_springyield", np.zeros(m.njnt))[j]):
            joint.set("springyield", _numbers(m.jnt_springyield[j]))
        joint.set("limited", "true" if m.jnt_limited[j] else "false")
        if m.jnt_limited[j]:
            joint.set("range", _numbers(m.jnt_range[j]))
            joint.set("margin", repr(float(m.jnt_margin[j])))
            for name in ("solref", "solimp"):
                joint.set(f"{name}limit", _numbers(getattr(m, f"jnt_{name}")[j]))
        if kind in ("slide", "hinge"):
            joint.set("axis", _numbers(m.jnt_axis[j]))
            joint.set("ref", repr(float(m.qpos0[at])))
            joint.set("springref", repr(float(m.qpos_spring[at])))
            joint.set("actuatorfrclimited", "true" if m.jnt_actfrclimited[j] else "false")
            if m.jnt_actfrclimited[j]:
                joint.set("actuatorfrcrange", _numbers(m.jnt_actfrcrange[j]))
            joint.set("actuatorgravcomp", "true" if m.jnt_actgravcomp[j] else "false")
        if kind != "free":
            joint.set("pos", _numbers(m.jnt_pos[j]))

    def polynomial(self, what: str, k: int) -> str:
        """A number, and its further coefficients where there are some."""
        first = getattr(self.model, what)[k]
        further = getattr(self.model, f"{what}poly", None)
        return _numbers(first if further is None or not further[k].any() else [first, *further[k]])

    def _geom_type(self, k: int) -> str:
        number = int(self.model.geom_type[k])
        return _GEOMS[number] if number < len(_GEOMS) else "other"

    def _geom(self, body: Any, k: int) -> None:
        m = self.model
        kind = self._geom_type(k)
        if kind in _NO_SOLIDS:
            if m.geom_contype[k] or m.geom_conaffinity[k] or k in (*m.pair_geom1, *m.pair_geom2):
                self.not_touching.append(m.geom(k).name or f"{kind} of {m.body(int(m.geom_bodyid[k])).name}")
            else:
                self.left_out[f"geoms of type {kind} that touch nothing"] = None
            return
        field, position = {}, m.geom_pos[k]
        if kind == "hfield":
            field["hfield"] = self.name("hfield", int(m.geom_dataid[k]))
            position = position + self.elevations[int(m.geom_dataid[k])] * z_axis(m.geom_quat[k])
        elif kind == "mesh":
            field["mesh"] = self.name("mesh", int(m.geom_dataid[k]))
        self.add(
            body,
            "geom",
            "geom",
            k,
            type=kind,
            **(field or {"size": _numbers(m.geom_size[k])}),
            **self.numbers_of(
                "geom", k, "friction", "solref", "solimp", "solmix", "margin", "gap", "surfacevel", "adhesion"
            ),
            contype=str(int(m.geom_contype[k])),
            conaffinity=str(int(m.geom_conaffinity[k])),
            condim=str(int(m.geom_condim[k])),
            priority=str(int(m.geom_priority[k])),
            group=str(int(m.geom_group[k])),
            rgba=_numbers(m.geom_rgba[k]),
            **self._place(position, m.geom_quat[k]),
            **self._fluid(k),
        )

    def _fluid(self, k: int) -> dict[str, str]:
        """Fluid coefficients of a geom."""
        fluid = self.model.geom_fluid[k]
        return {"fluidshape": "ellipsoid", "fluidcoef": _numbers(fluid[1:6])} if fluid[0] else {}

    def numbers_of(self, kind: str, k: int, *names: str) -> dict[str, str]:
        """Attributes of numbers, but for those that the version of MuJoCo does not have."""
        known = [name for name in names if hasattr(self.model, f"{kind}_{name}")]
        return {name: _numbers(getattr(self.model, f"{kind}_{name}")[k]) for name in known}

    def _contacts(self, root: Any) -> None:
        m = self.model
        section = etree.SubElement(root, "contact")
        for signature in m.exclude_signature:
            first, second = int(signature) >> 16, int(signature) & 0xFFFF
            etree.SubElement(section, "exclude", body1=self.name("body", first), body2=self.name("body", second))
        for k in range(m.npair):
            geoms = [int(g[k]) for g in (m.pair_geom1, m.pair_geom2)]
            if any(self._geom_type(g) in _NO_SOLIDS for g in geoms):
                continue
            names = [self.name("geom", g) for g in geoms]
            etree.SubElement(
                section,
                "pair",
                geom1=names[0],
                geom2=names[1],
                condim=str(int(m.pair_dim[k])),
                **self.numbers_of(
                    "pair", k, "friction", "margin", "gap", "solref", "solreffriction", "solimp", "adhesion"
                ),
            )

    # Couplings and actuators -------------------------------------------------------------------------

    def _tendons(self, root: Any) -> None:
        m = self.model
        section = etree.SubElement(root, "tendon")
        for k in range(m.ntendon):
            parts = range(int(m.tendon_adr[k]), int(m.tendon_adr[k]) + int(m.tendon_num[k]))
            fixed = all(int(m.wrap_type[w]) == 1 for w in parts)
            tendon = self.add(section, "fixed" if fixed else "spatial", "tendon", k)
            for what in ("stiffness", "damping", "frictionloss", "armature"):
                numbers = self.polynomial(f"tendon_{what}", k)
                if any(float(x) for x in numbers.split()):
                    tendon.set(what, numbers)
            tendon.set("springlength", _numbers(m.tendon_lengthspring[k]))
            if np.any(getattr(m, "tendon_springyield", np.zeros(m.ntendon))[k]):
                tendon.set("springyield", _numbers(m.tendon_springyield[k]))
            if np.any(getattr(m, "tendon_actfrclimited", np.zeros(m.ntendon))[k]):
                tendon.set("actuatorfrclimited", "true")
                tendon.set("actuatorfrcrange", _numbers(m.tendon_actfrcrange[k]))
            tendon.set("margin", repr(float(m.tendon_margin[k])))
            tendon.set("limited", "true" if m.tendon_limited[k] else "false")
            if m.tendon_limited[k]:
                tendon.set("range", _numbers(m.tendon_range[k]))
            for w in parts:
                self._wrapped(tendon, int(m.wrap_type[w]), int(m.wrap_objid[w]), float(m.wrap_prm[w]))

    def _wrapped(self, tendon: Any, kind: int, target: int, number: float) -> None:
        """Writes a part of a tendon's path: a joint, a pulley, a site, or a geom that it wraps around."""
        if kind == 1:
            etree.SubElement(tendon, "joint", joint=self.name("joint", target), coef=repr(number))
        elif kind == 2:
            etree.SubElement(tendon, "pulley", divisor=repr(number))
        elif kind == 3:
            etree.SubElement(tendon, "site", site=self.name("site", target))
        else:
            side = {"sidesite": self.name("site", round(number))} if number >= 0 else {}
            etree.SubElement(tendon, "geom", geom=self.name("geom", target), **side)

    def _equalities(self, root: Any) -> None:
        m = self.model
        section = etree.SubElement(root, "equality")
        for k in range(m.neq):
            kind, data = int(m.eq_type[k]), m.eq_data[k]
            first, second = int(m.eq_obj1id[k]), int(m.eq_obj2id[k])
            attributes = {
                "active": "true" if m.eq_active0[k] else "false",
                "solref": _numbers(m.eq_solref[k]),
                "solimp": _numbers(m.eq_solimp[k]),
            }
            if kind in (0, 1):
                self._pair(section, ("connect", "weld")[kind], attributes, k)
            elif kind in (2, 3):
                what = ("joint", "tendon")[kind - 2]
                attributes |= {f"{what}1": self.name(what, first), "polycoef": _numbers(data[:5])}
                if second >= 0:
                    attributes[f"{what}2"] = self.name(what, second)
                self.add(section, what, "equality", k, **attributes)
            else:
                raise UnsupportedFeature(f"equality {k} is of type {kind}; connect, weld, joint and tendon are read")

    def _pair(self, section: Any, kind: str, attributes: dict[str, str], k: int) -> None:
        """A connect or a weld, between bodies or between sites."""
        m = self.model
        data = m.eq_data[k]
        what = "site" if int(m.eq_objtype[k]) == 6 else "body"
        first, second = (self.name(what, int(ids[k])) for ids in (m.eq_obj1id, m.eq_obj2id))
        attributes |= {f"{what}1": first, f"{what}2": second}
        if what == "body":
            attributes["anchor"] = _numbers(data[:3])
            if kind == "weld":
                attributes["relpose"] = _numbers(data[3:10])
        if kind == "weld":
            attributes["torquescale"] = repr(float(data[10]))
        self.add(section, kind, "equality", k, **attributes)


def _listed(names: list[str]) -> str:
    """Names, the first ones of many."""
    return ", ".join(f"'{name}'" for name in names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")

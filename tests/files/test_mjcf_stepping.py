# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: settings of MuJoCo's steps that change the motion and are not used are warnings, with file and line."""

from __future__ import annotations

import warnings

import pytest

import linkwork as lw
from linkwork.errors import ModelWarning

MODEL = """<mujoco>{0}<worldbody><geom type="plane" size="1 1 1"/>
  <body gravcomp="{2}"><joint name="j" axis="0 1 0" {1}/>
  <geom size=".1" pos=".1 0 0"/></body></worldbody><actuator><{3} joint="j"/></actuator></mujoco>"""

WARNED = {
    "RK4": (('<option integrator="RK4"/>', "", 0, "motor"), "integrator RK4 is not used"),
    "implicit": (('<option integrator="implicit"/>', "", 0, "motor"), "integrator implicit is not used"),
    "Euler with a damped servo": (('<option integrator="Euler"/>', "", 0, 'position kv="1"'), "dampers of servos"),
    "explicit dampers": (('<option><flag eulerdamp="disable"/></option>', 'damping="1"', 0, "motor"), "eulerdamp"),
    "short time constants": (('<option><flag refsafe="disable"/></option>', "", 0, "motor"), "two steps at least"),
    "noslip": (('<option noslip_iterations="3"/>', "", 0, "motor"), "noslip_iterations are not used"),
    "compensation by actuators": (("", 'actuatorgravcomp="true"', 1, "motor"), "passive force here"),
}
SILENT = {
    "nothing": ("", 'damping="1"', 1, "motor"),
    "implicitfast": ('<option integrator="implicitfast"/>', 'damping="1"', 0, 'position kv="1"'),
    "Euler": ('<option integrator="Euler"/>', 'damping="1"', 0, "motor"),
    "explicit dampers of nothing": ('<option><flag eulerdamp="disable"/></option>', "", 0, "motor"),
    "no compensation": ("", 'actuatorgravcomp="true"', 0, "motor"),
}


@pytest.mark.parametrize("case", WARNED)
def test_a_setting_that_is_not_used_is_a_warning(case: str) -> None:
    parts, words = WARNED[case]
    with pytest.warns(ModelWarning, match=f"<text>:[12] .*{words}"):
        lw.loads(MODEL.format(*parts))


@pytest.mark.parametrize("case", SILENT)
def test_a_setting_that_makes_no_difference_is_none(case: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.loads(MODEL.format(*SILENT[case]))

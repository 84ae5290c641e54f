# SPDX-License-Identifier: BSD-3-Clause
"""MJCF: ranges of joints, tendons and actuators count where they count in MuJoCo, and are errors where they are."""

from __future__ import annotations

import numpy as np
import pytest

import linkwork as lw
from linkwork.errors import ModelError, ModelWarning

mujoco = pytest.importorskip("mujoco")

MODEL = """<mujoco><compiler autolimits="{0}"/><worldbody><body><joint name="j" {1}/>
  <geom size=".1"/></body></worldbody>
  <tendon><fixed name="t" {2}><joint joint="j" coef="1"/></fixed></tendon>
  <actuator><motor joint="j" {3}/></actuator></mujoco>"""
RANGES = ('range="-30 40"', 'range="0 0"', 'range="40 -30"', 'range="-30 40" limited="false"', "", 'limited="false"')


def loaded(*parts: str) -> tuple[lw.Mechanism, object]:
    text = MODEL.format(*parts)
    return lw.loads(text), mujoco.MjModel.from_xml_string(text)


@pytest.mark.filterwarnings("ignore:.*bounds nothing:linkwork.errors.ModelWarning")
@pytest.mark.parametrize("range", RANGES)
def test_a_range_counts_where_it_ascends(range: str) -> None:
    """Ranges of zeros, which files have for none, held joints and tendons at zero."""
    actuator = range.replace("range", "ctrlrange").replace("limited", "ctrllimited")
    robot, model = loaded("true", range, range, actuator)
    limits = [(robot.lower[0], robot.upper[0]), robot.tendons[0].limits, robot.actuators[0].limits]
    theirs = [
        (model.jnt_limited[0], model.jnt_range[0]),
        (model.tendon_limited[0], model.tendon_range[0]),
        (model.actuator_ctrllimited[0], model.actuator_ctrlrange[0]),
    ]
    for ours, (counts, ends) in zip(limits, theirs, strict=True):
        np.testing.assert_allclose(ours, ends if counts else (-np.inf, np.inf))


def test_a_range_that_descends_is_a_warning() -> None:
    with pytest.warns(ModelWarning, match="range goes from 40 to -30: it bounds nothing"):
        lw.loads(MODEL.format("true", 'range="40 -30"', "", ""))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (("true", 'limited="true"', "", ""), "range is missing"),
        (("true", 'limited="true" range="2 1"', "", ""), "range goes from 2 to 1"),
        (("true", "", 'limited="true" range="0 0"', ""), "range goes from 0 to 0"),
        (("false", 'range="-1 1"', "", ""), "needs limited='true' or 'false'"),
        (("false", "", "", 'ctrlrange="-1 1"'), "needs ctrllimited='true' or 'false'"),
        (("true", 'type="ball" range="-10 60"', "", ""), "range of a ball joint goes from -10 to 60"),
    ],
)
def test_a_range_that_mujoco_refuses_is_an_error(parts: tuple[str, ...], words: str) -> None:
    text = MODEL.format(*parts)
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_string(text)
    with pytest.raises(ModelError, match=words):
        lw.loads(text)

# SPDX-License-Identifier: BSD-3-Clause
"""Columns of the regressor: where those of each parameter begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from linkwork.model.lie import VECTOR
from linkwork.model.model import Model
from linkwork.plans.tree import TREE, Tree, tree_of

STARTS: Mapping[str, str] = MappingProxyType(
    {
        "inertial_parameters": "bodies_start",
        "armature": "armature_start",
        "damping": "damping_start",
        "stiffness": "stiffness_start",
        "friction": "friction_start",
    }
)
"""Parameters of a robot that torques are linear in, and sizes that say where their columns begin; -1 if nowhere."""

REGRESSOR_TREE = TREE.extended(
    "regressor",
    sizes=("nparameters", "nplain", *STARTS.values()),
    integers={
        "plain_v": ("nplain",),  # degrees of freedom whose coordinate is a number, in v and in q
        "plain_q": ("nplain",),
    },
    floats={"plain_rest": ("nplain",)},  # where their springs are at rest
)
"""A tree with the columns of its regressor."""


def regressor_tree(robot: Model, parameters: Sequence[str]) -> Tree:
    """The arrays of a mechanism with frames at all bodies, and the columns of parameters, in their order."""
    starts, columns = dict.fromkeys(STARTS.values(), -1), 0
    for name in parameters:
        starts[STARTS[name]] = columns
        columns += 10 * len(robot.body_names) if name == "inertial_parameters" else robot.nv
    plain = [joint for joint in robot.joints if joint.type.group is VECTOR]
    return REGRESSOR_TREE.build(
        tree_of(robot, robot.body_names),
        nparameters=columns,
        plain_v=[k for joint in plain for k in range(robot.nv)[robot.v_slice(joint.name)]],
        plain_q=[k for joint in plain for k in range(robot.nq)[robot.q_slice(joint.name)]],
        plain_rest=[x for joint in plain for x in joint.rest],
        **starts,
    )

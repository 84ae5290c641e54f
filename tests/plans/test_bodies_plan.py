# SPDX-License-Identifier: BSD-3-Clause
"""Round-off in plans is measured by the robot, whatever else is in its scene."""

from __future__ import annotations

import numpy as np

import linkwork as lw


def test_a_body_with_the_inertia_of_a_mountain_changes_no_other() -> None:
    """Sawyer scenes of metaworld have objects of 0.01 kg and 100 000 kg m², whose radius of gyration is 5 km: the arm's
    small moments were round-off beside it, and its torques off by 5e-6."""
    arm = lw.Builder("arm")
    parent = "world"
    for k, axis in enumerate("zyxzyx"):
        inertia = lw.Inertia.box(0.3 + 0.1 * k, (0.03, 0.02, 0.2 - 0.02 * k), com=(1e-6, 2e-5, 0.1))
        arm.body(f"link{k}", inertia).joint(f"j{k}", lw.joints.Revolute(axis), parent, f"link{k}", (0, 0, 0.2))
        parent = f"link{k}"
    alone = arm.build()
    arm.body("object", lw.Inertia(0.01, rotational=1e5 * np.eye(3)))
    arm.joint("object_joint", lw.joints.Free(), "world", "object")
    scene = arm.build()
    q, n = alone.random(3), alone.nv
    p = scene.neutral()
    p[: alone.nq] = q
    M = lw.mass_matrix(scene, p)[:n, :n]
    np.testing.assert_allclose(M, lw.mass_matrix(alone, q), rtol=0, atol=1e-15)

# SPDX-License-Identifier: BSD-3-Clause
"""A pyramid of boxes, 288 contact points, 864 rows: contact forces without ever making the 864 x 864 matrix."""

import numpy as np
import scipy.sparse
import scipy.sparse.linalg as sla

import linkwork as lw

pyramid = lw.zoo.pyramid()
q = pyramid.poses["assembled"]
delassus = lw.Delassus(pyramid)
D = delassus.at(q)
print(D.robot, "with", D.shape[0], "rows;", delassus.memory["operator"] // 1000, "kB of work memory")

# Boxes at rest under gravity: rows must not accelerate, so forces undo what gravity does to them.
fall = lw.ForwardDynamics(pyramid.unconstrained())(q, np.zeros(pyramid.nv), np.zeros(pyramid.nv)).acceleration
asked = -(D.jacobian @ fall)

# The rows are far from independent; a little damping makes them solvable, directly or by SciPy's CG.
r = D.default_damping()
forces = D.damped_inverse(r) @ asked
steps: list[object] = []
soft = D + r * sla.aslinearoperator(scipy.sparse.identity(D.shape[0]))
found, failed = sla.cg(soft, asked, rtol=1e-10, callback=steps.append)
print(f"default damping {r:.1e}; CG needs {len(steps)} products (failed: {bool(failed)})")
print(f"CG and the direct inverse differ by {np.abs(D @ (found - forces)).max():.0e} m/s²")

# What it means: the ground carries the weight.
ground = [c.name for c in pyramid.constraints if c.first == "world"]
weight = sum(forces[pyramid.row_slice(name)][2] for name in ground)
print(f"the ground pushes with {weight:.3f} N, the boxes weigh {pyramid.mass * 9.81:.3f} N")
left = fall + D.response @ forces
print(f"with these forces no box accelerates by more than {np.abs(left).max():.0e} m/s²")

# Another damping at the same q, and many right-hand sides at once.
stiffer = D.damped_inverse(r).with_damping(r / 100)
print("softer and stiffer forces differ by", f"{np.abs(stiffer @ asked - forces).max() / np.abs(forces).max():.0e}")
print("four products at once:", (D @ np.eye(D.shape[0])[:, :4]).shape)
print("largest eigenvalue:", round(D.largest_eigenvalue(), 2))

# SPDX-License-Identifier: BSD-3-Clause
"""A heavy box on a stack, and a house of cards: one step by three solvers, and a second in which nothing moves."""

import time
import warnings
from pathlib import Path

import numpy as np

import linkwork as lw

DT, ITERATIONS = 1e-3, 2000
stack = lw.zoo.boxes(10, masses=[1.0] * 9 + [1000.0])  # the heavy box is on top
cards = lw.zoo.card_house(3)

# One step from rest by each solver. The residual is the same number for all: what is wrong with the laws, in m/s.
warnings.simplefilter("ignore", lw.errors.StateWarning)  # that a solver did not get there is what is shown
for scene in (stack, cards):
    q, v = scene.poses["assembled"], np.zeros(scene.nv)
    slots = lw.contact.ContactGeometry(scene)(q).gaps.size
    print(f"{scene.name}: {scene.nv} velocities, {slots} contact points")
    found = {}
    for solver in ("newton", "admm", "pgs"):
        step = lw.contact.ContactStep(scene, dt=DT, solver=solver, max_iterations=ITERATIONS)
        found[solver] = s = step(q, v)
        words = "solved" if s.converged else "not solved"
        print(f"  {solver:6} {s.iterations:5d} iterations, residual {s.residual:.0e} m/s, {words}")
    weight = DT * 9.81 * scene.mass
    carried = sum(i[:, 2].sum() for name, i in found["newton"].impulses.items() if name.startswith("ground"))
    print(f"  the ground gives {carried:.4f} N s in a step, the weight {weight:.4f} N s")

# Time: forces of a step start from those of the step before, and most steps then take one iteration.
for scene in (stack, cards):
    q = scene.poses["assembled"]
    clock = time.perf_counter()
    run = lw.simulate(scene, q, seconds=0.5, record_every=10)
    took = time.perf_counter() - clock
    moved = np.abs(run.q - q).max()
    print(f"{scene.name}: 0.5 s in {took:.1f} s, {run.contacts.missed[-1]} steps not solved, moved by {moved:.0e} m")

# The same house with less friction than cards need: it slides apart, and the energy that is lost is accounted for.
smooth = lw.zoo.card_house(3, friction=0.15)
fall = lw.simulate(smooth, smooth.poses["assembled"], seconds=0.3, record_every=10)
lost, energy = fall.contacts.dissipated, fall.energy["total"]
print(f"with friction 0.15 it falls: {energy[0] - energy[-1]:.4f} J less, contacts took {lost['total'][-1]:.4f} J,")
print(f"  {lost['friction'][-1]:.4f} J of it by friction")

Path("out").mkdir(exist_ok=True)
run.picture("out/card_house.png")
fall.plot("out/card_house_falls.png")
print("out/card_house.png has the forces between cards, out/card_house_falls.png the fall")

# SPDX-License-Identifier: BSD-3-Clause
"""A hand of four fingers holds a cube by friction alone; how hard one may pull before it slips, and how it falls."""

from pathlib import Path

import numpy as np

import linkwork as lw

GRIP, FRICTION, MASS = 5.0, 0.8, 0.1
hand = lw.zoo.hand_and_cube(GRIP, FRICTION, mass=MASS)
q = hand.poses["assembled"]
fingers = list(hand.contacts)
print(f"{hand.name}: {hand.nv} velocities; {', '.join(pair.name for pair in fingers)}")

# At rest: each finger presses, and friction carries a quarter of the weight.
quiet = lw.simulate(hand, q, seconds=0.5, record_every=10)
cube = hand.q_slice("cube")
sunk = q[cube][2] - quiet.q[-1][cube][2]
first = quiet.contacts[fingers[0].name].forces[-1, 0]
print(
    f"a finger presses with {first[2]:.3f} N and carries {np.hypot(*first[:2]):.4f} N, a quarter of {9.81 * MASS:.3f} N"
)
print(f"the cube sinks by {abs(sunk):.0e} m in half a second")
assert abs(sunk) < 1e-6, "it creeps"

# Pull downwards: friction is at most mu f_n, and fingers that are drawn along press less.
most = 4 * FRICTION * GRIP - 9.81 * MASS
print(f"fingers that press with {GRIP:g} N whatever happens would hold against {most:.2f} N; these bend:")
for share in (0.25, 0.5, 0.75, 1.0):
    pull = share * most
    run = lw.simulate(hand, q, seconds=0.1, wrenches={"cube": [0, 0, 0, 0, 0, -pull]}, record_every=5)
    last = np.array([run.contacts[pair.name].forces[-1, 0] for pair in fingers])
    drop = 1e3 * (q[cube][2] - run.q[-1][cube][2])
    held = any(run.contacts[pair.name].touching[-1].any() for pair in fingers)
    used = np.hypot(last[:, 0], last[:, 1]).max() / (FRICTION * last[:, 2].max()) if held else 0.0
    words = f"held, {drop:.3f} mm lower, by {100 * used:.0f} % of friction" if held else f"lost, {drop:.0f} mm lower"
    print(f"  {pull:5.2f} N: {words}")

# Too little friction from the start: it falls through the fingers.
slick = lw.zoo.hand_and_cube(GRIP, FRICTION, mass=MASS)
slick = slick.with_contacts(*(lw.contact.ContactPair(p.first, p.second, p.name, friction=0.03) for p in fingers))
fall = lw.simulate(slick, q, seconds=0.2, record_every=5)
lost = fall.contacts.dissipated
print(f"with friction 0.03 it falls by {1e3 * (q[cube][2] - fall.q[-1][cube][2]):.0f} mm in 0.2 s,")
print(f"  half of g t² is {1e3 * 0.5 * 9.81 * 0.04:.0f} mm; friction took {lost['friction'][-1]:.4f} J")

Path("out").mkdir(exist_ok=True)
quiet.picture("out/hand_and_cube.png")
fall.plot("out/hand_and_cube_falls.png")
print("out/hand_and_cube.png has the forces of the fingers, out/hand_and_cube_falls.png the fall")

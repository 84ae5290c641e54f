# SPDX-License-Identifier: BSD-3-Clause
"""Thresholds of simulations: the quantity that each is relative to (*part of*), its reason, and its test.

Loop errors of simulated states are in `closure.thresholds`.
"""

from __future__ import annotations

# The start ---------------------------------------------------------------------------------------------------------

RESTING_JOINTS = 1e-6
"""Joints slower than this are at rest: the velocity that opens loops is compared with this one then. Part of: the
angular frequency of a pendulum of the robot's length. Test: tests/simulation/test_simulation.py"""

UNIT_QUATERNION = 1e-12
"""Quaternions whose norm differs by less from one are not normalized, so that a simulation resumes bit by bit. Part of:
one. Test: tests/simulation/test_simulation_schedule.py"""

BEYOND_LIMITS = 1e-3
"""Joints may start beyond limits that hold exactly by this, without a warning. Part of: a radian, or the size of the
largest body. Test: tests/simulation/test_contact_simulation.py"""

LIGHT_BODY = 1e-5
"""Lighter bodies are named as the cause of loops that open: regularized rows on them give way. Part of:
the largest mass. Test: tests/simulation/test_open_loops.py"""

CHECKED_STATES = 16
"""States of a run, evenly spaced, at which errors of loops are checked, at a few microseconds each. Part of: a
count. Test: tests/simulation/test_open_loops.py"""

CHECKED_TIMES = 8
"""Times of a run at which force elements of time are examined for stiffness, evenly spaced. Part of: a count. Test:
tests/simulation/test_integrator_choice.py"""

# Steps -------------------------------------------------------------------------------------------------------------

STEP_ACCURACY = 1e-8
"""The error of a step of ``dopri5`` by default. Part of: a radian or a meter; of velocities, one and the velocity.
Test: tests/simulation/test_simulation_methods.py"""

LEAST_STEP_ERROR = 1e-12
"""Lesser errors of a step are taken as this: the next one is as long as it may be anyway. Part of: the accuracy. Test:
tests/simulation/test_simulation_methods.py"""

SHRINKING = 0.2
"""The least factor by which the next adaptive step is shorter. Part of: the step before. Test:
tests/simulation/test_simulation_methods.py"""

GROWING = 5.0
"""The largest factor by which it is longer. Part of: the step before. Test:
tests/simulation/test_simulation_methods.py"""

SHORTEST_STEP = 1e-9
"""A simulation ends where a shorter step is not accurate enough, either. Part of: ``dt``. Test:
tests/simulation/test_simulation.py"""

ROUNDED_TIME = 1e-12
"""Lesser rests of a time are rounding. Part of: the time from record to record. Test:
tests/simulation/test_simulation_schedule.py"""

SHORTEST_ADVISED = 0.02
"""Shorter steps are not advised where servos chatter. Part of: ``dt``. Test:
tests/quantities/test_messages.py"""

STABLE_PART = 0.5
"""Springs and dampers are stiff beyond this part of where steps of an integrator become unstable: inertias and laws
change along the motion. Part of: the limit of stability. Test: tests/simulation/test_integrator_choice.py"""

ELEMENT_CHANGE = 1e-6
"""Change of a joint or its velocity over which forces of elements are differenced for stiffness. Part of: a radian
or a meter, and a second. Test: tests/simulation/test_integrator_choice.py"""

# Stops and contacts ------------------------------------------------------------------------------------------------

LEAST_STOP_TIME = 0.01
"""The least time in which a stop catches a joint that moves nothing but its own inertia. Part of: seconds. Test:
tests/simulation/test_simulation.py"""

LEAST_TENDON_MOBILITY = 1e-3
"""Tendons whose length joints move with a lesser inverse inertia have stops for this one. Part of: one over the mass of
the robot. Test: tests/quantities/test_tendons.py"""

SEARCHED_GAP = 0.1
"""Contact points of pairs without a kernel are computed where gaps are smaller. Part of: the size of the largest body.
Test: tests/simulation/test_contact_simulation.py"""

SEARCHED_STEPS = 10.0
"""The gap that closes in so many steps. Part of: the fall of a body of the robot's size in a step. Test:
tests/simulation/test_contact_simulation.py"""

SLIGHT_CONTACT = 1e-6
"""A contact with a lesser force does not touch, and with a lesser velocity does not slide. Part of: the robot's weight;
the velocity at which bodies of its size fall. Test: tests/simulation/test_contact_simulation.py"""

PROGRAM_SLOTS = 32
"""Slots of contact points of a robot whose steps on a GPU are a program by default: with more, programs take minutes to
compile. Part of: one. Test: tests/compilers/test_cuda_warps.py"""

CROSSING_TIME = 1e-10
"""By how much the time of an event may be wrong, unless another tolerance is given. Part of: a second. Test:
tests/simulation/test_events.py"""

CROWDED = 1000
"""Events within one step of the clock after which a simulation ends: they accumulate. Part of: one. Test:
tests/simulation/test_events.py"""

RADAU_TOLERANCE = 1e-3
"""Newton's iterations of the stages of ``radau`` end at lesser changes. Part of: the accuracy of a step. Test:
tests/simulation/test_radau.py"""

RADAU_ITERATIONS = 10
"""Newton's iterations of the stages of ``radau`` after which a step is tried again with a lesser length. Part of: one.
Test: tests/simulation/test_radau.py"""

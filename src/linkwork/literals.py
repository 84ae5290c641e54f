"""Words that parameters take, as types: editors complete them, and type checkers find those that are misspelled.

Each lists the keys of a table that says what they mean (tests/test_docstrings.py compares them).
"""

from __future__ import annotations

from typing import Literal

Auto = Literal["auto"]
"""Whatever fits best."""

ForwardMethod = Literal[
    "aba",
    "kkt",
    "ltl",
    "prox_ltl",
    "pv",
    "prox_pv",
    "prox_bbo",
    "pv_early",
    "pv_soft",
    "constrained_aba",
    "lcaba",
    "cluster",
    "projection",
    "approximate",
    "lagrange",
]
"""Methods of forward dynamics: `forward.METHODS`."""

SimulationMethod = ForwardMethod | Literal["auto", "minimal"]
"""The same for `simulate`, or minimal coordinates."""

InverseMethod = Literal["rnea", "cluster", "actuated", "least", "approximate"]
"""Methods of inverse dynamics: `inverse.METHODS`."""

ImpactMethod = Literal["prox_bbo", "lcaba"]
"""Methods of impact dynamics: `impulse.METHODS`."""

DelassusMethod = Literal["matrix_free", "ltl", "prox_ltl", "pv_osim", "pv_osim_fast", "kjr", "efpa", "cluster_efpa"]
"""Ways to `Delassus` operators, without the matrix or with it: `delassus.batches.METHODS`."""

InertiaMethod = Literal["efpa", "projection"]
"""Methods of `OperationalInertia`: `operational.METHODS`."""

Quantity = Literal[
    "forward_dynamics",
    "inverse_dynamics",
    "mass_matrix",
    "inverse_mass_product",
    "bias_forces",
    "passive_forces",
    "gravity_forces",
    "frame_placement",
    "frame_velocity",
    "frame_acceleration",
    "frame_jacobian",
    "center_of_mass",
    "centroidal_momentum",
    "energy",
    "constraint_error",
    "constraint_jacobian",
    "constraint_bias",
    "constraint_target",
    "actuator_torques",
    "gravity_compensation",
]
"""What an `Evaluator` can compute: `dynamics.QUANTITIES`."""

Reference = Literal["local", "aligned", "world"]
"""Axes of vectors at frames: `dynamics.REFERENCES`."""

Precision = Literal["float64", "float32"]
"""Numbers that machine code computes with."""

Lanes = Literal["auto", 1, 2, 4, 8, 16]
"""States that share one SIMD register."""

Integrator = Literal["euler", "rk4", "dopri5"]
"""How steps are made: `simulation.INTEGRATORS`."""

TimeConstant = float | Literal["auto"] | None
"""Seconds in which open loops close again; None: they do not."""

# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of steps with contacts as pipelines: the implicit function theorem at a solution.

Each function returns a `Pipeline` that reads the inputs of the step's equations and of its linear system, the
``result`` of the step, ``how`` (`CONTACT_SENSITIVITY`), and tangents ``d<input>`` or cotangents ``y_q1``, ``y_v1``.

| function | outputs                                                            |
|----------|--------------------------------------------------------------------|
| `jvp`    | ``jvp.q1``, ``jvp.v1``: rates of the state after the step          |
| `vjp`    | ``vjp.<input>``: cotangents times the Jacobian, by inputs          |
"""

# The derivative of a step ----------------------------------------------------------------------------------------
#
# A step is a function of its inputs x and of the accelerations a that its solver finds: (q1, v1) = S(x, a). With the
# contact forces f, they satisfy the equations of motion, those of loops, and for each contact its projection,
#
#     balance(x, a, f) = 0,      rows(x, a) = target,      F(z, w) = 0  with  y = y(x, a)
#
# Contacts stick, slide or separate as they do at the solution. Along a tangent dx, with a and f held, let
# r = (-d balance, dy, d rows, d box_y). One system with the factor of Newton's matrix (`contact_sensitivity`) gives da:
#
#     jvp     A da = r,                      d(q1, v1) = S_x dx + S_a da
#     vjp     A' (p, n, w, b) = S_a' y,      y' d(q1, v1) = (S_x dx)' y + (-p, n, -w, b)' d(balance, y, rows, box_y)
#
# Each d(...) is a sweep over the same equations: forward, or reverse with its multipliers as cotangents.
#
# Coefficients of friction act through forces and velocities alone (`friction_rates`): as further tangents of the result
# that equations are taken at, and of y. In reverse they collect what equations leave by the result, and n.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from linkwork.compilers.pipeline import Call, Map, Part, Pipeline, Step, Sum
from linkwork.compilers.program import Backend, Program
from linkwork.contact.friction_rates import FRICTION, FrictionRates
from linkwork.contact.step_equations import ContactEquations, ContactFunction, Which
from linkwork.kernels.derivatives.contact_sensitivity import CONTACT_SENSITIVITY, SYSTEM
from linkwork.plans.contact_lcaba import HEAD
from linkwork.quantities.products import Kind, Product


@dataclass(frozen=True, eq=False)
class StepPrograms:
    """The programs of derivatives of a step."""

    step: ContactFunction
    by: tuple[str, ...]
    """Inputs to differentiate by."""
    cells: int = 0
    """Slots whose cells of height fields are given; without them, programs have all cells."""

    @cached_property
    def equations(self) -> ContactEquations:
        """The equations alone."""
        return ContactEquations(self.step, "equations", self.cells)

    @cached_property
    def friction(self) -> dict[str, FrictionRates]:
        """Derivatives by coefficients of friction, by name, where they are inputs."""
        shapes, tree = self.step.parameter_inputs.shapes, self.equations.program.tree
        return {name: FrictionRates(tree, self.step.dt, name, *shapes[name]) for name in FRICTION if name in self.by}

    @property
    def equations_by(self) -> tuple[str, ...]:
        """Inputs by which equations are differentiated: friction acts through forces."""
        return (*self.by, *(("result",) if self.friction else ()))

    @cached_property
    def _products(self) -> dict[tuple[Which, Kind], Product]:
        return {}

    def _product(self, which: Which, kind: Kind, by: tuple[str, ...]) -> Program:
        if (which, kind) not in self._products:
            self._products[which, kind] = Product(ContactEquations(self.step, which, self.cells), kind, by)
        return self._products[which, kind].program

    @property
    def equation_rates(self) -> Program:
        """Rates of the equations along tangents of inputs."""
        return self._product("equations", "jvp", self.equations_by)

    @property
    def state_rates(self) -> Program:
        """Rates of the state after the step, by the state before and by accelerations."""
        return self._product("state", "jvp", ("q", "v", "result"))

    @property
    def state_gradient(self) -> Program:
        """Cotangents of the state after the step, by the result."""
        return self._product("state", "vjp", ("result",))

    @property
    def gradients(self) -> Program:
        """Cotangents of the state after the step and of the equations, by inputs."""
        return self._product("all", "vjp", self.equations_by)

    @cached_property
    def system(self) -> Program:
        """The linear system."""
        program = replace(self.step.planned, algorithm=self.step.sensitivity, derivation=None)
        return self.step.parameter_inputs.program(program)

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return int(self.step.robot.nv)

    def backend(self, program: Program) -> Backend:
        """The backend of a program: native code for the system, straight-line code for all others.

        Args:
            program: One of these.
        """
        if program is self.system:
            return Backend("plain" if self.step.backend == "plain" else "native")
        return next(p.execution.backend for p in self._products.values() if p.program is program)

    def inputs(self, state: Sequence[Any], optional: Mapping[str, Any], dtype: Any = np.float64) -> dict[str, Any]:
        """Inputs of pipelines by name, but parameters, ``how``, tangents and cotangents.

        Args:
            state: q, v and tau.
            optional: Commands, wrenches, the result and cells of height fields, by name.
            dtype: Of arrays that are made.
        """
        step = self.step
        system = step.problem_inputs(state[0], state[1], optional, dtype)
        equations = step.equation_inputs(state, optional, dtype)
        return {
            **dict(zip(CONTACT_SENSITIVITY.inputs, system, strict=False)),
            **dict(zip(step.equations.inputs, equations, strict=True)),
        }


def how(kind: Kind, theta: float) -> Any:
    """Which system is solved, as its program reads it.

    Args:
        kind: The product.
        theta: The smoothing, an acceleration.
    """
    return np.array([theta, float(kind == "vjp")])


def jvp(programs: StepPrograms) -> Pipeline:
    """Rates of the state after the step along tangents of inputs.

    Args:
        programs: Of the step.
    """
    steps: list[Step] = []
    for k, (name, friction) in enumerate(programs.friction.items()):
        arrays = "result", name, f"d{name}"
        steps += [Map(f"forces by {name}", arrays, friction.forces, 1), Map(f"y by {name}", arrays, friction.y, 2)]
        steps += [Sum("dresult", (*[(1.0, "dresult")] * bool(k), (1.0, f"forces by {name}")))]
    steps += [
        Call(programs.equation_rates, ("balance", "y", "rows", "box_y")),
        Sum("torque", ((-1.0, "balance"),)),
        *(Sum("y", ((1.0, "y"), (1.0, f"y by {name}"))) for name in programs.friction),
        Call(programs.system, ("da", "df", "dw", "db"), {"tau": "no torque"}),
        Map("dresult", ("da",), _Accelerations(int(programs.system.tree.nresult)), 1),
        Call(
            programs.state_rates,
            ("jvp.q1", "jvp.v1"),
            {f"d{name}": "no torque" for name in ("q", "v") if name not in programs.by},
        ),
    ]
    return Pipeline(tuple(steps), ("jvp.q1", "jvp.v1"), {"no torque": np.zeros(programs.nv)})


def vjp(programs: StepPrograms) -> Pipeline:
    """Cotangents of the state after the step times the Jacobian, by inputs.

    Args:
        programs: Of the step.
    """
    steps: list[Step] = [
        Call(programs.state_gradient, ("of result",)),
        Part("torque", "of result", slice(HEAD, HEAD + programs.nv)),
        Call(programs.system, ("p", "n", "w", "b"), {"tau": "no torque"}),
        Sum("y_balance", ((-1.0, "p"),)),
        Sum("y_rows", ((-1.0, "w"),)),
        Call(
            programs.gradients,
            tuple(f"vjp.{name}" for name in programs.equations_by),
            {"y_y": "n", "y_box_y": "b"},
        ),
    ]
    for name, friction in programs.friction.items():
        arrays = "result", "vjp.result", "n", name
        steps += [
            Map(f"by {name}", arrays, friction.gradient, 1),
            Sum(f"vjp.{name}", ((1.0, f"vjp.{name}"), (1.0, f"by {name}"))),
        ]
    shapes = dict(zip(programs.system.algorithm.inputs, programs.system.input_shapes(), strict=True))
    zeros = {name: np.zeros(shapes[name]) for name in SYSTEM if name != "torque"}
    return Pipeline(
        tuple(steps),
        tuple(f"vjp.{name}" for name in programs.by),
        {"no torque": np.zeros(programs.nv), **zeros},
    )


@dataclass(frozen=True)
class _Accelerations:
    """A result whose accelerations are given, zero elsewhere."""

    size: int

    def __call__(self, xp: Any, a: Any) -> Any:
        after = self.size - HEAD - a.shape[-1]
        zeros = [xp.zeros_like(xp.broadcast_to(a[..., :1], (*a.shape[:-1], n))) for n in (HEAD, after)]
        return xp.concatenate((zeros[0], a, zeros[1]), -1)

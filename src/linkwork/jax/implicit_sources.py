# SPDX-License-Identifier: BSD-3-Clause
"""Implicit functions as sources: several programs for a product, at a solution that is at hand.

`dynamics.staged_products` and `contact.derivatives` have the equations; here the same programs are called by JAX, whose
compiler keeps what passes between them where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from linkwork.compilers.program import Backend
from linkwork.contact.derivatives import ContactDerivatives, ContactEquations
from linkwork.contact.step_products import ContactStepFunction, need_double
from linkwork.dynamics.implicit_products import DUALS, Implicit
from linkwork.dynamics.linear_solve import solve_program
from linkwork.dynamics.row_dependence import rows_depend, rows_redundant
from linkwork.dynamics.solution import HEAD
from linkwork.errors import UnsupportedFeature
from linkwork.jax.calls import ProgramCall
from linkwork.jax.handlers import OnError
from linkwork.jax.sources import Array, Arrays, EvaluatorSource, Given, Shape
from linkwork.kernels.constrained import DISABLED
from linkwork.kernels.contact_sensitivity import CONTACT_SENSITIVITY
from linkwork.plans.contact_lcaba import HEAD as CONTACT_HEAD
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.products import JacobianVectorProduct, Product, VectorJacobianProduct
from linkwork.simulation.contact_derivatives import StepperFunction

CONTRADICTORY = 1e-6
"""What rows may miss of right-hand sides, as a part of all of these (`dynamics.linear_system`)."""


class StagedSource(EvaluatorSource):
    """Forward dynamics by a method that iterates, or impacts: function, linear system, residual.

    Args:
        evaluator: What is evaluated, with numbers of the type wanted.
        names: Inputs that calls have.
        by: Those of them to differentiate by.
        on_error: What becomes of states that are not finite, on the CPU.
    """

    def __init__(self, evaluator: Any, names: Sequence[str], by: Sequence[str], on_error: OnError) -> None:
        super().__init__(evaluator, names, by, on_error)
        self.nv, self.nc = int(evaluator.robot.nv), int(evaluator.robot.nc)

    @property
    def _implicit(self) -> Implicit:
        found: Implicit = self.evaluator.implicit
        return found

    @property
    def _straight(self) -> Backend:
        return Product._straight(self.evaluator._backend)

    @cached_property
    def _tangent(self) -> ProgramCall:
        """The residual's tangent."""
        return self.call_of(self._implicit.forward_program(self.by), self._straight)

    @cached_property
    def _adjoint(self) -> ProgramCall:
        """The residual's adjoint."""
        return self.call_of(self._implicit.reverse_program(self.by), self._straight)

    @cached_property
    def _second(self) -> ProgramCall:
        """The derivative of the residual's adjoint."""
        return self.call_of(self._implicit.second_program(self.by), self._straight)

    @cached_property
    def _transposed_rows(self) -> ProgramCall:
        """``J' w``."""
        return self.call_of(self._implicit.forward_program(self._implicit.solution[1:]), self._straight)

    @cached_property
    def _solve(self) -> ProgramCall:
        return self.call_of(solve_program(self.evaluator.linear_solver.program), self._straight)

    @cached_property
    def _of_solver(self) -> tuple[Any, Any]:
        """Regularization and settings of the linear system."""
        solver = self.evaluator.linear_solver
        if solver.dtype.name != self.dtype:
            solver = solver.native(self.dtype)
        R, _, _, settings = solver._held_inputs()
        return R, settings

    def _at(self, x: dict[str, Array], outs: Arrays) -> dict[str, Array]:
        """Inputs and the solution; of forces of redundant rows, the smallest."""
        at = {**x, **dict(zip(self._implicit.solution, outs, strict=True))}
        if rows_redundant(self.evaluator.robot):
            at[self._implicit.solution[1]] = self._smallest(at, outs[1])
        return at

    def forward(self, x: dict[str, Array], outs: Arrays, d: dict[str, Array]) -> list[Array]:
        """Rates of the solution.

        Args:
            x: Inputs by name.
            outs: The solution.
            d: Directions by names of inputs, in tangent spaces.
        """
        at = self._at(x, outs)
        right = self.run(self._tangent, at, {f"d{name}": one for name, one in d.items()})
        return list(self._solution(at, right["force"], right["rows"], seeds=False))

    def reverse(self, x: dict[str, Array], outs: Arrays, y: Arrays) -> dict[str, Array]:
        """Gradients by inputs.

        Args:
            x: Inputs by name.
            outs: The solution.
            y: Seeds of the solution.
        """
        at = self._at(x, outs)
        p, w = self._solution(at, y[0], -y[1], seeds=True)
        found = {"tau": p, "target": -w}
        if self._adjoint.outputs:
            found |= self.run(self._adjoint, at, dict(zip(DUALS.values(), (p, w), strict=True)))
        return found

    def second(self, x: dict[str, Array], outs: Arrays, y: Arrays, d: dict[str, Array]) -> dict[str, Array]:
        """Rates of gradients along a direction: three systems with one matrix.

        Args:
            x: Inputs by name.
            outs: The solution.
            y: Seeds of the solution.
            d: Directions by names of inputs, in tangent spaces.
        """
        at = self._at(x, outs) | {f"d{name}": one for name, one in d.items()}
        at |= zip(DUALS.values(), self._solution(at, y[0], -y[1], seeds=True), strict=True)
        right = self.run(self._tangent, at)
        rates = self._solution(at, right["force"], right["rows"], seeds=False)
        at |= zip((f"d{name}" for name in self._implicit.solution), rates, strict=True)
        found = self.run(self._second, at)
        force, rows = (found[name] for name in self._implicit.solution)
        dp, dw = self._solution(at, force, -rows, seeds=True)
        if self._adjoint.outputs:
            more = self.run(self._adjoint, at, dict(zip(DUALS.values(), (dp, dw), strict=True)))
            found |= {name: found[name] + one for name, one in more.items()}
        return found | {"tau": dp, "target": -dw}

    # The linear system: `dynamics.linear_system` ------------------------------------------------------------------

    def _solution(self, at: dict[str, Array], force: Array, rows: Array, seeds: bool) -> tuple[Array, Array]:
        """``x`` and the smallest ``w`` of ``M x - J' w = force, J x = rows``."""
        redundant = rows_redundant(self.evaluator.robot)
        if redundant:
            x, w, _ = self._solved(at, force, self._consistent(at, rows) if seeds else rows)
            return x, self._smallest(at, w)
        x, w, missed = self._solved(at, force, rows)
        if not rows_depend(self.evaluator.robot):
            return x, w

        def again() -> tuple[Array, Array]:
            y, u, _ = self._solved(at, force, self._consistent(at, rows))
            return y, self._smallest(at, u)

        _, settings = self._of_solver
        row_inertia, mobility = settings[len(settings) - self.nc :], settings[-self.nc - self.nv : -self.nc]
        scale = (mobility * jnp.square(force)).sum(-1) + (row_inertia * jnp.square(rows)).sum(-1)
        contradictory = jnp.any((row_inertia * jnp.square(missed)).max(-1) > CONTRADICTORY**2 * scale)
        found: tuple[Array, Array] = jax.lax.cond(contradictory, again, lambda: (x, w))
        return found

    def _solved(self, at: dict[str, Array], force: Array, rows: Array) -> tuple[Array, Array, Array]:
        """``x``, ``w``, and what rows miss."""
        R, settings = self._of_solver
        right = {"force": force, "rows": rows, "regularization": R, "settings": settings}
        found = self.run(self._solve, at, right)
        result = found["result"]
        return found["x"], result[..., HEAD : HEAD + self.nc], result[..., HEAD + self.nc : HEAD + 2 * self.nc]

    def _smallest(self, at: dict[str, Array], w: Array) -> Array:
        """The smallest forces that do to joints what ``w`` does."""
        moved = self.run(self._transposed_rows, at, {f"d{self._implicit.solution[1]}": w})
        return self._solved(at, -moved["force"], np.zeros(self.nc, self.dtype))[1]

    def _consistent(self, at: dict[str, Array], rows: Array) -> Array:
        """Right-hand sides without what they contradict each other by."""
        R, _ = self._of_solver
        on = R < DISABLED
        found = self._smallest(at, jnp.where(on, rows / np.where(on, R, 1.0).astype(self.dtype), 0.0))
        return jnp.where(on, R * found, 0.0)


class ContactSource(EvaluatorSource):
    """A step with contacts, of a `ContactStep` or of a `Stepper`: its equations at the solution, and one system.

    Args:
        evaluator: What makes the step, with numbers of the type wanted.
        names: Inputs that calls have.
        by: Those of them to differentiate by.
        on_error: What becomes of states that are not finite, on the CPU.
    """

    def __init__(self, evaluator: Any, names: Sequence[str], by: Sequence[str], on_error: OnError) -> None:
        self._commanded = "commands" in names
        self._stepper = hasattr(evaluator, "single_step_program")
        super().__init__(evaluator, names, by, on_error)
        self._result = "found" if self._stepper else list(self.program.algorithm.outputs)[2]
        program = self.program
        outputs = dict(zip(program.algorithm.outputs, program.output_shapes(), strict=True))
        self.further: list[Shape] = [outputs[self._result]]
        self.results = {"q": outputs["q1"], "v": outputs["v1"]}
        self.curved_results = ("q",)

    def _differentiated(self) -> Differentiated:
        return contact_inputs(self.evaluator)

    def _held_inputs(self) -> dict[str, Any]:
        evaluator = self.evaluator
        names = list(self.program.algorithm.inputs)
        if self._stepper:
            held = evaluator.held(evaluator._uncommanded if self._commanded else None)
            settings = [*held, *evaluator._own_parameters, evaluator.repeats(1)]
            return {"tau": np.zeros(evaluator.robot.nv, self.dtype), **dict(zip(names[3:], settings, strict=True))}
        arranged = evaluator._all_inputs(evaluator._inputs([Given("q"), Given("v"), None]))
        return {name: x for name, x in zip(names, arranged, strict=True) if not isinstance(x, Given)}

    def value(self, x: dict[str, Array]) -> list[Array]:
        """The state after the step, and the result that equations hold at.

        Args:
            x: Inputs by name.
        """
        found = self.run(self._value, x)
        return [found["q1"], found["v1"], found[self._result]]

    # Products ----------------------------------------------------------------------------------------------------

    @cached_property
    def _step(self) -> Any:
        need_double(self.dtype)
        return StepperFunction(self.evaluator) if self._stepper else ContactStepFunction(self.evaluator)

    @cached_property
    def _of_equations(self) -> dict[str, Any]:
        """Inputs of the equations that the step holds."""
        step, known = self._step, self.known.optional
        optional = {name: Given(name) for name in (*known, "result") if name in (*self.shapes, "result")}
        arranged = step.equation_inputs([Given(name) for name in ("q", "v", "tau")], optional, np.float64)
        return _held(step.equations_program.algorithm.inputs, arranged)

    @cached_property
    def _of_system(self) -> dict[str, Any]:
        optional = {name: Given(name) for name in ("wrenches",) if name in self.shapes}
        arranged = self._step.problem_inputs(Given("q"), Given("v"), optional, np.float64)
        return _held(CONTACT_SENSITIVITY.inputs, arranged)

    def _equations(self, which: Any, kind: Callable[..., Product], by: Sequence[str]) -> ProgramCall:
        product = kind(ContactEquations(self._step, which), tuple(by))
        return self.call_of(product.program, product._backend)

    @cached_property
    def _rates(self) -> ProgramCall:
        return self._equations("equations", JacobianVectorProduct, self.by)

    @cached_property
    def _state_rates(self) -> ProgramCall:
        return self._equations("state", JacobianVectorProduct, ("q", "v", "result"))

    @cached_property
    def _state_seeds(self) -> ProgramCall:
        return self._equations("state", VectorJacobianProduct, ("result",))

    @cached_property
    def _gradients(self) -> ProgramCall:
        return self._equations("all", VectorJacobianProduct, self.by)

    @cached_property
    def _sensitivity(self) -> ProgramCall:
        runner = ContactDerivatives(self._step)._runner(CONTACT_SENSITIVITY)
        return self.call_of(runner.program, Backend("native", threads=self.evaluator._backend.threads))

    def _system(self, x: dict[str, Array], result: Array, transposed: bool, right: Arrays) -> list[Array]:
        settings = self._of_system["settings"]
        how = np.array([float(settings[0]) / float(settings[2]), float(transposed)])
        names = list(CONTACT_SENSITIVITY.inputs)[-4:]
        given = {"tau": np.zeros(self.evaluator.robot.nv), "result": result, "how": how}
        known = {**x, **self._of_system, **given, **dict(zip(names, right, strict=True))}
        return list(self.run(self._sensitivity, known).values())

    def forward(self, x: dict[str, Array], outs: Arrays, d: dict[str, Array]) -> list[Array]:
        """Rates of the state after the step.

        Args:
            x: Inputs by name.
            outs: The state after the step, and the result.
            d: Directions by names of inputs, in tangent spaces.
        """
        x, result, nv = self._complete(x), outs[2], self.evaluator.robot.nv
        at = {**self._of_equations, **x, "result": result}
        rates = list(self.run(self._rates, at, {f"d{name}": one for name, one in d.items()}).values())
        change = self._system(x, result, False, [-rates[0], *rates[1:]])[0]
        after = result.shape[-1] - CONTACT_HEAD - nv
        dresult = jnp.pad(change, [(0, 0)] * (change.ndim - 1) + [(CONTACT_HEAD, after)])
        zero = np.zeros(nv)
        along = {"dq": d.get("q", zero), "dv": d.get("v", zero), "dresult": dresult}
        found = self.run(self._state_rates, at, along)
        return [found["q1"], found["v1"]]

    def reverse(self, x: dict[str, Array], outs: Arrays, y: Arrays) -> dict[str, Array]:
        """Gradients by inputs.

        Args:
            x: Inputs by name.
            outs: The state after the step, and the result.
            y: Seeds of the state, in tangent spaces.
        """
        x, result, nv = self._complete(x), outs[2], self.evaluator.robot.nv
        at = {**self._of_equations, **x, "result": result}
        seeds = dict(zip(("y_q1", "y_v1"), y, strict=True))
        of_result = self.run(self._state_seeds, at, seeds)["result"]
        seed = of_result[..., CONTACT_HEAD : CONTACT_HEAD + nv]
        zeros = [np.zeros(shape) for shape in self._sensitivity.inputs[-3:]]
        balance, slots, rows, boxes = self._system(x, result, True, [seed, *zeros])
        more = {"y_balance": -balance, "y_y": slots, "y_rows": -rows, "y_box_y": boxes}
        return self.run(self._gradients, at, seeds, more)

    def _complete(self, x: dict[str, Array]) -> dict[str, Array]:
        return {"tau": np.zeros(self.evaluator.robot.nv), **x}

    def second(self, x: dict[str, Array], outs: Arrays, y: Arrays, d: dict[str, Array]) -> dict[str, Array]:
        """There is none.

        Args:
            x: Inputs by name.
            outs: The state after the step, and the result.
            y: Seeds of the state.
            d: Directions by names of inputs.
        """
        raise UnsupportedFeature(f"{self.what} is a step with contacts: it has first derivatives alone")


def contact_inputs(evaluator: Any) -> Differentiated:
    """What a step with contacts is called with and differentiated by."""
    commands = ("commands",) * bool(getattr(evaluator, "takes_commands", False))
    optional = (*commands, *("wrenches",) * bool(evaluator.frames), *evaluator.parameters)
    results = {"q": ("q1", slice(None)), "v": ("v1", slice(None))}
    return Differentiated(("q", "v", "tau"), optional, results, ("q",), ("q1",))


def _held(names: Sequence[str] | dict[str, Any], arranged: Sequence[Any]) -> dict[str, Any]:
    return {name: x for name, x in zip(names, arranged, strict=False) if not isinstance(x, Given)}

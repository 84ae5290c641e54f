# SPDX-License-Identifier: BSD-3-Clause
"""Steps with contacts: equations that hold at the solution, and one system with the factor of Newton's matrix.

`contact.derivatives` has the equations, and `contact.friction_rates` those of friction; here the same programs are
called by JAX.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from linkwork.compilers.program import Program
from linkwork.contact.derivatives import GIVEN, ContactDerivatives, ContactEquations, Which
from linkwork.contact.friction_rates import FRICTION, FrictionRates
from linkwork.contact.step_function import ContactStepFunction
from linkwork.errors import UnsupportedFeature
from linkwork.jax.calls import ProgramCall
from linkwork.jax.handlers import OnError
from linkwork.jax.sources import Array, Arrays, EvaluatorSource, Given, Shape
from linkwork.kernels.derivatives.contact_sensitivity import CONTACT_SENSITIVITY
from linkwork.plans.contact_lcaba import HEAD
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.products import Kind, Product
from linkwork.simulation.contact_derivatives import StepperFunction
from linkwork.simulation.stepper import Stepper


def contact_inputs(evaluator: Any) -> Differentiated:
    """What a step with contacts is called with and differentiated by.

    Args:
        evaluator: A `ContactStep`, or a `Stepper` with contacts.
    """
    commands = ("commands",) * bool(getattr(evaluator, "takes_commands", False))
    optional = (*commands, *("wrenches",) * bool(evaluator.frames), *evaluator.parameters)
    results = {"q": ("q1", slice(None)), "v": ("v1", slice(None))}
    return Differentiated(GIVEN, optional, results, ("q",), ("q1",))


class ContactSource(EvaluatorSource):
    """A step with contacts, of a `ContactStep` or of a `Stepper`.

    Args:
        evaluator: What makes the step, with numbers of the type wanted.
        names: Inputs that calls have.
        by: Those of them to differentiate by.
        on_error: What becomes of states that are not finite, on the CPU.
    """

    def __init__(self, evaluator: Any, names: Sequence[str], by: Sequence[str], on_error: OnError) -> None:
        self._commanded = "commands" in names
        if getattr(evaluator, "given", None) is not None and evaluator.program.tree.ngiven:
            raise UnsupportedFeature(
                f"contact points of some pairs of '{evaluator.robot.name}' are found by coal between steps, which XLA "
                "cannot call: give these bodies boxes, capsules or spheres"
            )
        super().__init__(evaluator, names, by, on_error)
        outputs = dict(zip(self._outputs, self.program.output_shapes(), strict=True))
        self.further: list[Shape] = [outputs["result"]]
        self.curved_results = ("q",)
        self.nv = int(evaluator.robot.nv)

    @property
    def _solves(self) -> bool:
        return False

    def _differentiated(self) -> Differentiated:
        return contact_inputs(self.evaluator)

    @property
    def program(self) -> Program:
        """One step; of a `Stepper`, without the loop that repeats steps, and from no forces."""
        stepper = self.evaluator
        if not isinstance(stepper, Stepper):
            return super().program
        return stepper.planned.single(stepper.dtype.name)

    @cached_property
    def _value(self) -> ProgramCall:
        return self.call_of(self.program)

    def _held_inputs(self) -> dict[str, Any]:
        evaluator = self.evaluator
        names = list(self.program.algorithm.inputs)
        if not isinstance(evaluator, Stepper):
            return _held(names, evaluator.input_arrays([Given(name) for name in GIVEN[:2]]))
        commands, wrenches, _, R, timing = evaluator.held(evaluator.held.commands if self._commanded else None)
        held = {"commands": commands, "wrenches": wrenches, "timing": timing, "settings": R[:2]}
        shapes = dict(zip(names, self.program.input_shapes(), strict=True))
        held |= {name: np.zeros(shapes[name], self.dtype) for name in ("tau", "before", "given")}
        return held | {name: evaluator.execution.held[name] for name in evaluator.parameters}

    def value(self, x: dict[str, Array]) -> list[Array]:
        """The state after the step, and the result that equations hold at.

        Args:
            x: Inputs by name.
        """
        found = self.run(self._value, x)
        return [found["q1"], found["v1"], found["result"]]

    # Programs of derivatives ---------------------------------------------------------------------------------------

    @cached_property
    def _step(self) -> Any:
        return (StepperFunction if isinstance(self.evaluator, Stepper) else ContactStepFunction)(self.evaluator)

    @cached_property
    def _equation_inputs(self) -> dict[str, Any]:
        """Inputs of the equations that the step holds."""
        optional = {name: Given(name) for name in (*self.shapes, "result") if name not in GIVEN}
        arranged = self._step.equation_inputs([Given(name) for name in GIVEN], optional, np.float64)
        return _held(self._step.equations.inputs, arranged)

    @cached_property
    def _system_inputs(self) -> dict[str, Any]:
        """The same of linear systems, which know no torques."""
        optional = {name: Given(name) for name in self.shapes if name == "wrenches"}
        arranged = self._step.problem_inputs(Given("q"), Given("v"), optional, np.float64)
        return _held(CONTACT_SENSITIVITY.inputs, arranged)

    @cached_property
    def _friction(self) -> FrictionRates | None:
        names = tuple(name for name in FRICTION if name in self.by)
        tree = ContactEquations(self._step, "equations").program.tree
        return FrictionRates(tree, self.evaluator.dt, names) if names else None

    def _product_of(self, which: Which, kind: Kind, by: Sequence[str]) -> ProgramCall:
        product = Product(ContactEquations(self._step, which), kind, by)
        return self.call_of(product.program, product.execution.backend)

    @property
    def _by(self) -> tuple[str, ...]:
        """What equations are differentiated by: friction acts through forces."""
        return (*self.by, *(("result",) if self._friction is not None else ()))

    @cached_property
    def _rates(self) -> ProgramCall:
        return self._product_of("equations", "jvp", self._by)

    @cached_property
    def _state_rates(self) -> ProgramCall:
        return self._product_of("state", "jvp", ("q", "v", "result"))

    @cached_property
    def _state_seeds(self) -> ProgramCall:
        return self._product_of("state", "vjp", ("result",))

    @cached_property
    def _gradients(self) -> ProgramCall:
        return self._product_of("all", "vjp", self._by)

    @cached_property
    def _sensitivity(self) -> ProgramCall:
        program = ContactDerivatives(self._step)._sensitivity.program
        return self.call_of(program)

    def _solved(self, x: dict[str, Array], result: Array, transposed: bool, sides: Arrays) -> list[Array]:
        """The solution of a linear system with these right-hand sides."""
        settings = self._system_inputs["settings"]
        how = np.array([float(settings[0]) / float(settings[2]), float(transposed)])
        names = list(CONTACT_SENSITIVITY.inputs)[-4:]
        given = {**self._system_inputs, "result": result, "how": how, **dict(zip(names, sides, strict=True))}
        return list(self.run(self._sensitivity, x, given).values())

    # Products ------------------------------------------------------------------------------------------------------

    def forward(self, x: dict[str, Array], outs: Arrays, d: dict[str, Array]) -> list[Array]:
        """Rates of the state after the step.

        Args:
            x: Inputs by name.
            outs: The state after the step, and the result.
            d: Directions by names of inputs, in tangent spaces.
        """
        result, zero = outs[2], np.zeros(self.nv)
        at = {**self._equation_inputs, **x, "result": result}
        along = {f"d{name}": one for name, one in d.items()}
        shift: Any = 0.0
        if self._friction is not None:
            along["dresult"], shift = self._friction_rates(self._friction, x, result, d)
        balance, y, rows, box_y = self.run(self._rates, at, along).values()
        change = self._solved(x, result, False, [-balance, y + shift, rows, box_y])[0]
        behind = result.shape[-1] - HEAD - self.nv
        dresult = jnp.pad(change, [*[(0, 0)] * (change.ndim - 1), (HEAD, behind)])
        found = self.run(self._state_rates, at, {"dq": d.get("q", zero), "dv": d.get("v", zero), "dresult": dresult})
        return [found["q1"], found["v1"]]

    def reverse(self, x: dict[str, Array], outs: Arrays, y: Arrays) -> dict[str, Array]:
        """Gradients by inputs.

        Args:
            x: Inputs by name.
            outs: The state after the step, and the result.
            y: Seeds of the state, in tangent spaces.
        """
        result = outs[2]
        at = {**self._equation_inputs, **x, "result": result}
        seeds = dict(zip(("y_q1", "y_v1"), y, strict=True))
        of_result = self.run(self._state_seeds, at, seeds)["result"]
        zeros = [np.zeros(shape) for shape in list(self._sensitivity.outputs.values())[1:]]
        balance, slots, rows, boxes = self._solved(x, result, True, [of_result[..., HEAD : HEAD + self.nv], *zeros])
        more = {"y_balance": -balance, "y_y": slots, "y_rows": -rows, "y_box_y": boxes}
        found = self.run(self._gradients, at, seeds, more)
        if self._friction is not None:
            found |= self._friction_gradients(self._friction, x, result, found, slots)
        return found

    def second(self, x: dict[str, Array], outs: Arrays, y: Arrays, d: dict[str, Array]) -> dict[str, Array]:
        """There is none.

        Args:
            x: Inputs by name.
            outs: The state after the step, and the result.
            y: Seeds of the state.
            d: Directions by names of inputs.
        """
        raise UnsupportedFeature(f"{self.what} is a step with contacts: it has first derivatives alone")

    # Friction: `contact.friction_rates` ------------------------------------------------------------------------------

    def _friction_rates(
        self, known: FrictionRates, x: dict[str, Array], result: Array, d: dict[str, Array]
    ) -> tuple[Array, Array]:
        """Rates of the result's forces, and of ``y``."""
        relative = {name: _divided(d[name], x[name]) for name in known.names}
        lead = jnp.broadcast_shapes(result.shape[:-1], *(one.shape[:-1] for one in relative.values()))
        rates, y = jnp.zeros((*lead, result.shape[-1])), jnp.zeros((*lead, known.nslots, 3))
        if "contact_friction" in relative:
            each = relative["contact_friction"][..., known._pair, None]
            rates = rates.at[..., known._force].set(each * result[..., known._force])
            y = y.at[..., known._slot, :2].set(each * result[..., known._velocity] / known.dt)
        if "friction" in relative:
            rates = rates.at[..., known._box].set(relative["friction"] * result[..., known._box])
        return rates, y

    def _friction_gradients(
        self, known: FrictionRates, x: dict[str, Array], result: Array, found: dict[str, Array], of_y: Array
    ) -> dict[str, Array]:
        """Gradients by friction, with those that equations have."""
        gradients, of_result = {}, found["result"]
        if "contact_friction" in known.names:
            mu = x["contact_friction"]
            acts = (of_result[..., known._force] * result[..., known._force]).sum(-1)
            acts = acts + (of_y[..., known._slot, :2] * result[..., known._velocity]).sum(-1) / known.dt
            of_pairs = np.eye(mu.shape[-1])[known._pair]  # points of a pair have one coefficient
            gradients["contact_friction"] = _divided(acts @ of_pairs, mu)
        if "friction" in known.names:
            acts = of_result[..., known._box] * result[..., known._box]
            gradients["friction"] = _divided(acts, x["friction"])
        return {name: found[name] + one for name, one in gradients.items()}


def _divided(x: Array, by: Array) -> Array:
    """A quotient; zero where the divisor is."""
    return jnp.where(by > 0, x / jnp.where(by > 0, by, 1.0), 0.0)


def _held(names: Iterable[str], arranged: Sequence[Any]) -> dict[str, Any]:
    """Inputs that calls do not have, by name."""
    return {name: x for name, x in zip(names, arranged, strict=False) if not isinstance(x, Given)}

# SPDX-License-Identifier: BSD-3-Clause
"""Steps with contacts as functions of JAX arrays: the pipelines of `contact.implicit`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from linkwork.compilers.program import Program
from linkwork.contact.implicit import StepPrograms, how, jvp, vjp
from linkwork.contact.step_equations import GIVEN
from linkwork.contact.step_function import ContactStepFunction
from linkwork.errors import UnsupportedFeature
from linkwork.jax.calls import ProgramCall
from linkwork.jax.handlers import OnError
from linkwork.jax.pipeline import JaxPipeline
from linkwork.jax.sources import Array, Arrays, EvaluatorSource, Given, Shape
from linkwork.quantities.differentiable import Differentiated
from linkwork.quantities.products import Kind
from linkwork.simulation.contact_derivatives import StepperFunction
from linkwork.simulation.stepper import Stepper


def contact_inputs(evaluator: Any) -> Differentiated:
    """Inputs, and inputs and results of derivatives, of a step with contacts.

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
        evaluator: The evaluator, with numbers of the wanted type.
        names: Inputs that calls have.
        by: Those of them to differentiate by.
        on_error: Treatment of states that are not finite, on the CPU.
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

    def value(self, x: dict[str, Array], differentiated: bool = False) -> list[Array]:
        """The state after the step, and the result that equations hold at.

        Args:
            x: Inputs by name.
            differentiated: Whether derivatives are taken there.
        """
        values = self.run(self._value, x)
        return [values["q1"], values["v1"], values["result"]]

    # Products ------------------------------------------------------------------------------------------------------

    @cached_property
    def _programs(self) -> StepPrograms:
        step = (StepperFunction if isinstance(self.evaluator, Stepper) else ContactStepFunction)(self.evaluator)
        return StepPrograms(step, self.by)

    @cached_property
    def _step_inputs(self) -> dict[str, Any]:
        """Inputs of pipelines that the step holds."""
        optional = {name: Given(name) for name in (*self.shapes, "result") if name not in GIVEN}
        inputs = self._programs.inputs([Given(name) for name in GIVEN], optional)
        return _held(inputs, list(inputs.values()))

    @cached_property
    def _jvp(self) -> JaxPipeline:
        return JaxPipeline(jvp(self._programs), self._call_of)

    @cached_property
    def _vjp(self) -> JaxPipeline:
        return JaxPipeline(vjp(self._programs), self._call_of)

    def _call_of(self, program: Program) -> ProgramCall:
        return self.call_of(program, self._programs.backend(program))

    def _run(self, kind: Kind, x: dict[str, Array], outs: Arrays, further: Mapping[str, Array]) -> dict[str, Array]:
        """Results of a pipeline at a solution."""
        held, pipeline = self._step_inputs, self._jvp if kind == "jvp" else self._vjp
        theta = float(held["settings"][0]) / float(held["settings"][2])
        return pipeline({**self._held, **held, **x, "result": outs[2], "how": how(kind, theta), **further})

    def forward(self, x: dict[str, Array], outs: Arrays, d: dict[str, Array]) -> list[Array]:
        """Rates of the state after the step.

        Args:
            x: Inputs by name.
            outs: The state after the step, and the result.
            d: Directions by names of inputs, in tangent spaces.
        """
        rates = self._run("jvp", x, outs, self._tangents(d))
        return [rates["jvp.q1"], rates["jvp.v1"]]

    def reverse(self, x: dict[str, Array], outs: Arrays, y: Arrays, first: bool = False) -> dict[str, Array]:
        """Gradients by inputs.

        Args:
            x: Inputs by name.
            outs: The state after the step, and the result.
            y: Seeds of the state, in tangent spaces.
            first: Whether seeds of velocities are zero.
        """
        gradients = self._run("vjp", x, outs, dict(zip(("y_q1", "y_v1"), y, strict=True)))
        return {name: gradients[f"vjp.{name}"] for name in self.by}

    def second(self, x: dict[str, Array], outs: Arrays, y: Arrays, d: dict[str, Array]) -> dict[str, Array]:
        """There is none.

        Args:
            x: Inputs by name.
            outs: The state after the step, and the result.
            y: Seeds of the state.
            d: Directions by names of inputs.
        """
        raise UnsupportedFeature(f"{self.what} is a step with contacts: it has first derivatives alone")


def _held(names: Iterable[str], arranged: Sequence[Any]) -> dict[str, Any]:
    """Inputs that calls do not have, by name."""
    return {name: x for name, x in zip(names, arranged, strict=False) if not isinstance(x, Given)}

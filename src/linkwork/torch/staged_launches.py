# SPDX-License-Identifier: BSD-3-Clause
"""Products of methods that iterate on a CUDA device, in stages: `dynamics.staged_products` with launches and tensors.

Nothing here looks at numbers, which would wait for the device: of rows that are redundant at all configurations,
solutions are always projected; of those that are so at some, they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from linkwork.compilers.backends import runner_for
from linkwork.dynamics.implicit_products import DUALS
from linkwork.dynamics.linear_system import SOFT
from linkwork.dynamics.rows.dependence import row_dependence
from linkwork.dynamics.solution import HEAD
from linkwork.dynamics.stages import Stages
from linkwork.kernels.constrained.problem import DISABLED
from linkwork.torch.launches import Given, Launch, Tensor, named

STIFFNESS: Mapping[str, float] = {"system": 1.0, "soft system": SOFT}
"""Stages that solve the linear system, and the stiffness of its rows."""
Held = Callable[[Sequence[str]], dict[str, Any]]


class StagedPrograms:
    """The programs of a product in stages, as launches that are made when they are first needed.

    Args:
        product: The product, on ``"cuda"``.
        held: All inputs of the product by name, from the names of inputs that have directions.
        device: Where.
    """

    def __init__(self, product: Stages, held: Held, device: torch.device) -> None:
        self.product, self._held, self.device = product, held, device
        product.runner  # noqa: B018  makes what the product holds
        self.solution: tuple[str, str] = product.implicit.solution  # type: ignore[assignment]
        """Names of accelerations and forces among the inputs of residuals."""
        self.redundant = product.redundant
        self.rows = int(product.robot.nc)
        self._launches: dict[Any, Launch] = {}
        R, _ = product._held_of_solver
        dtype = {"float64": torch.float64, "float32": torch.float32}[product._dtype.name]
        enabled = torch.tensor(R < DISABLED, device=device)
        given = torch.tensor(R, dtype=dtype, device=device)
        self.regularization = torch.where(enabled, given, 0.0)
        self.inverse_regularization = torch.where(enabled, 1.0 / torch.where(enabled, given, 1.0), 0.0)
        idle = row_dependence(product.robot).idle
        self.moved = torch.tensor(~idle, dtype=dtype, device=device) if idle.any() else None
        """One for rows that something moves, zero for the others, whose forces are zero; None: all are moved."""
        self.no_rows = torch.zeros(self.rows, dtype=dtype, device=device)

    def launch(self, name: str, along: tuple[str, ...] = ()) -> Launch:
        """The launch of one stage.

        Args:
            name: ``"system"``, ``"soft system"``, ``"transpose"``, ``"product"``, ``"forward"`` or ``"reverse"``.
            along: Inputs that have directions.
        """
        found = self._launches.get((name, along))
        if found is None:
            runner = self._runner(name)
            held = {**self._held(along), **named([*self.solution, *DUALS.values()])}
            if name in ("transpose", "product", "forward"):
                held |= named([f"d{x}" for x in self.solution])
            if name in STIFFNESS:
                arranged = self.product._of_system(held, Given("force"), Given("rows"), STIFFNESS[name])
                held = dict(zip(runner.names, arranged, strict=True))
            found = Launch(runner, {key: held[key] for key in runner.names}, self.device)
            self._launches[name, along] = found
        return found

    def _runner(self, name: str) -> Any:
        product = self.product
        if name in STIFFNESS:
            return product.solve_runner
        if name == "transpose":
            return product.transpose_runner
        if name == "product":
            return product.runner
        sweeps = {"forward": product.implicit.forward_program, "reverse": product.implicit.reverse_program}
        return runner_for(sweeps[name](product.inputs), product._backend)

    def outputs(self, name: str) -> list[str]:
        """Names of the outputs of a stage.

        Args:
            name: As of `launch`.
        """
        implicit, by = self.product.implicit, self.product.inputs
        programs = {"forward": implicit.forward_program, "reverse": implicit.reverse_program}
        program = self.product.program if name == "product" else programs[name](by)
        return list(program.algorithm.outputs)


class StagedLaunches:
    """A product in stages at some states.

    Args:
        programs: Its programs.
        tensors: Inputs and solutions, by name.
        project: Whether forces that cancel, of redundant rows, are taken off (`Stages.without_projections`).
    """

    def __init__(self, programs: StagedPrograms, tensors: Mapping[str, Tensor], project: bool) -> None:
        self.programs, self.tensors = programs, dict(tensors)
        self.redundant = project and programs.redundant
        forces = programs.solution[1]
        self.tensors[forces] = self._unique(self.tensors[forces])

    def _solved(self, force: Tensor, rows: Tensor, seeds: bool) -> tuple[Tensor, Tensor]:
        """``x`` and ``w`` of the linear system (`linear_system.LinearSystem.solution`)."""
        programs = self.programs
        if seeds and self.redundant:
            rows = programs.regularization * self._unique(programs.inverse_regularization * rows)
        elif seeds:
            rows = self._unique(rows)
        x, w = self._system(force, rows)
        return x, self._unique(w)

    def _system(self, force: Tensor, rows: Tensor, name: str = "system") -> tuple[Tensor, Tensor]:
        x, result = self.programs.launch(name)({**self.tensors, "force": force, "rows": rows})
        return x, result[..., HEAD : HEAD + self.programs.rows]

    def _unique(self, w: Tensor) -> Tensor:
        """Forces without what cancels: the smallest that do to joints what ``w`` does, where they are projected."""
        if self.redundant:
            found = self._balanced(w, "soft system")
            w = found + self._balanced(w - found, "system")
        return w if self.programs.moved is None else self.programs.moved * w

    def _balanced(self, w: Tensor, name: str) -> Tensor:
        programs = self.programs
        force = programs.launch("transpose")({**self.tensors, f"d{programs.solution[1]}": -w})[0]
        return self._system(force, programs.no_rows, name)[1]

    def jvp(self, directions: Mapping[str, Tensor]) -> list[Tensor]:
        """Rates of accelerations and forces.

        Args:
            directions: Of inputs, by name.
        """
        directed = {f"d{name}": d for name, d in directions.items()}
        force, rows = self.programs.launch("product", tuple(directions))({**self.tensors, **directed})
        return list(self._solved(force, rows, seeds=False))

    def vjp(self, seeds: Sequence[Tensor]) -> list[Tensor]:
        """Gradients by the inputs of the product.

        Args:
            seeds: Of accelerations and forces.
        """
        programs = self.programs
        p, w = self._solved(seeds[0], -seeds[1], seeds=True)
        found = {"tau": p, "target": -w}
        moving = programs.outputs("product")
        if moving:
            found |= zip_names(
                moving, programs.launch("product")({**self.tensors, **zip_names(DUALS.values(), (p, w))})
            )
        return [found[name] for name in programs.product.inputs]

    def hvp(self, seeds: Sequence[Tensor], directions: Mapping[str, Tensor]) -> list[Tensor]:
        """Rates of the gradients along a direction, seeds held.

        Args:
            seeds: Of accelerations and forces.
            directions: Of inputs, by name.
        """
        programs, along = self.programs, tuple(directions)
        tensors = {**self.tensors, **{f"d{name}": d for name, d in directions.items()}}
        tensors |= zip_names(DUALS.values(), self._solved(seeds[0], -seeds[1], seeds=True))
        force, rows = programs.launch("forward", along)(tensors)
        rates = self._solved(force, rows, seeds=False)
        tensors |= zip_names([f"d{name}" for name in programs.solution], rates)
        found = zip_names(programs.outputs("product"), programs.launch("product", along)(tensors))
        force, rows = (found[name] for name in programs.solution)
        dp, dw = self._solved(force, -rows, seeds=True)
        moving = programs.outputs("reverse")
        if moving:
            made = programs.launch("reverse", along)({**tensors, **zip_names(DUALS.values(), (dp, dw))})
            for name, x in zip(moving, made, strict=True):
                found[name] = found[name] + x
        found |= {"tau": dp, "target": -dw}
        return [found[name] for name in programs.product.inputs]


def zip_names(names: Any, values: Any) -> dict[str, Any]:
    """Values by name.

    Args:
        names: Their names.
        values: As many.
    """
    return dict(zip(names, values, strict=True))

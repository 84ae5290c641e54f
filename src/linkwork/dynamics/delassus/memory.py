"""Work arrays that operators are prepared in, lent and taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from linkwork.compilers.run import Held, Runner, Subject
from linkwork.kernels.algorithm import Algorithm
from linkwork.model.model import Model
from linkwork.plans.tree import Tree, unit_ranges
from linkwork.quantities.evaluator import Array


class Pool:
    """Work arrays for one kind of operator of one robot; those of operators that are gone serve new ones."""

    def __init__(
        self, robot: Model, algorithm: Algorithm, tree: Tree, stages: Sequence[Algorithm], own: Sequence[str] = ()
    ) -> None:
        self._subject = Subject(algorithm, tree, unit_ranges(robot), robot.name)
        self._stages = {stage.name: stage for stage in stages}
        self._own = own
        self._idle: list[Held] = []

    @cached_property
    def bytes(self) -> int:
        """Memory of one set of work arrays."""
        held = self.take()
        self.give([held])
        return held.context.bytes

    def take(self) -> Held:
        """Work arrays that nobody uses."""
        try:
            return self._idle.pop()
        except IndexError:
            return Held(self._subject, tuple(self._stages.values()), self._own)

    def give(self, held: Sequence[Held]) -> None:
        """Take them back."""
        self._idle.extend(held)

    def runner(self, stage: str) -> Runner:
        """What knows the shapes of a stage, and words for what is wrong with arrays."""
        algorithm = self._stages[stage]
        units = self._subject.units if "q" in algorithm.inputs else ()
        return Runner(replace(self._subject, algorithm=algorithm, units=units))


class Prepared:
    """Work arrays in which the stages for one state have run, and copies of them if several threads use them at once.

    Never changed once it is made: stages that are called later write to scratch arrays alone.
    """

    def __init__(self, pool: Pool, held: Held) -> None:
        self.pool, self._first = pool, held
        self._idle, self._all = [held], [held]

    def call(self, stage: str, *arrays: Array) -> None:
        """Run a stage: inputs, then outputs."""
        try:
            held = self._idle.pop()
        except IndexError:
            held = self.copy()
            self._all.append(held)
        status = held.entries[stage](*arrays)
        self._idle.append(held)
        if status:
            runner = self.pool.runner(stage)
            runner.explain(status, arrays[: len(runner.inputs)], arrays[len(runner.inputs) :])

    def copy(self) -> Held:
        """Work arrays in the same state."""
        held = self.pool.take()
        held.context.take(self._first.context)
        return held

    def __del__(self) -> None:
        self.pool.give(self._all)

# SPDX-License-Identifier: BSD-3-Clause
"""Work arrays that operators are prepared in, lent and taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from linkwork.compilers.program import Program
from linkwork.compilers.run import Runner
from linkwork.compilers.workspace import Workspace
from linkwork.kernels.algorithm import Algorithm
from linkwork.model.model import Model
from linkwork.plans.tree import Tree
from linkwork.quantities.arguments import Array


class Pool:
    """Work arrays for one kind of operator of one robot; those of operators that are gone serve new ones."""

    def __init__(
        self, robot: Model, algorithm: Algorithm, tree: Tree, stages: Sequence[Algorithm], own: Sequence[str] = ()
    ) -> None:
        self._program = Program.of_robot(robot, algorithm, tree)
        self._stages = {stage.name: stage for stage in stages}
        self._own = own
        self._idle: list[Workspace] = []

    @cached_property
    def bytes(self) -> int:
        """Memory of one set of work arrays."""
        workspace = self.take()
        self.give([workspace])
        return workspace.context.bytes

    def take(self) -> Workspace:
        """Work arrays that are free."""
        try:
            return self._idle.pop()
        except IndexError:
            return Workspace(self._program, tuple(self._stages.values()), self._own)

    def put_frames(self, workspace: Workspace, frames: Array, turns: Array, shifts: Array) -> None:
        """Put frames elsewhere, with what the plan has derived of them."""
        own = workspace.context.own
        own["frame_rotation"][frames], own["frame_position"][frames] = turns, shifts
        place = np.full(len(own["frame_position"]), -1)
        place[frames] = np.arange(len(frames))
        moved = place[self._program.tree.pair_first]
        pairs = np.flatnonzero(moved >= 0)
        own["pair_frame"][pairs], own["pair_lever"][pairs] = turns[moved[pairs]], shifts[moved[pairs]]

    def give(self, workspace: Sequence[Workspace]) -> None:
        """Take them back."""
        self._idle.extend(workspace)

    def runner(self, stage: str) -> Runner:
        """The runner of a stage: checks the shapes of arrays."""
        algorithm = self._stages[stage]
        units = self._program.units if "q" in algorithm.inputs else ()
        return Runner(replace(self._program, algorithm=algorithm, units=units))


class Prepared:
    """Work arrays in which the stages for one state have run, and copies of them if several threads use them at once.

    Never changed once it is made: stages that are called later write to scratch arrays alone.
    """

    def __init__(self, pool: Pool, workspace: Workspace) -> None:
        self.pool, self._first = pool, workspace
        self._idle, self._all = [workspace], [workspace]

    def call(self, stage: str, *arrays: Array) -> None:
        """Run a stage for one vector: inputs, then outputs."""
        workspace = self._lent()
        status = workspace.entries[stage](*arrays)
        self._idle.append(workspace)
        if status:
            self._explain(stage, status, arrays)

    def call_columns(self, stage: str, *arrays: Array) -> None:
        """Run a stage for one vector or several, one a lane: inputs, then outputs."""
        if arrays[-1].ndim == 1 or len(arrays[-1]) == 1:
            self.call(stage, *arrays)
            return
        workspace = self._lent()
        status = workspace.columns(stage)(*arrays)
        self._idle.append(workspace)
        if status:
            self._explain(stage, status, arrays)

    def _lent(self) -> Workspace:
        """Work arrays that no other thread uses at the moment."""
        try:
            return self._idle.pop()
        except IndexError:
            workspace = self.copy()
            self._all.append(workspace)
            return workspace

    def _explain(self, stage: str, status: int, arrays: Sequence[Array]) -> None:
        runner = self.pool.runner(stage)
        runner.explain(status, arrays[: len(runner.inputs)], arrays[len(runner.inputs) :])

    def copy(self) -> Workspace:
        """Work arrays in the same state."""
        workspace = self.pool.take()
        workspace.context.take(self._first.context)
        return workspace

    def __del__(self) -> None:
        self.pool.give(self._all)

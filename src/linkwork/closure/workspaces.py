# SPDX-License-Identifier: BSD-3-Clause
"""Workspaces of mechanisms over their drivers: reach, distance to singularities, forces on a frame.

With ``J`` the rows of loops, ``u`` the drivers and ``x`` the position of a frame, ``dq = R du`` (`circuits.rates`) and
``dx = J_x R du``. Gosselin and Angeles, Singularity analysis of closed-loop kinematic chains, 1990:

| singularity | where                                | meaning                                                    |
|-------------|--------------------------------------|------------------------------------------------------------|
| parallel    | ``J`` of the other joints loses rank | locked drivers do not hold the mechanism: dead centers     |
| serial      | ``J_x R`` loses rank                 | the frame cannot move along a direction: edges of reach    |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkwork.closure.assembly import assemble
from linkwork.closure.assembly_problem import which_enabled
from linkwork.closure.circuits import rates
from linkwork.closure.designs import Designs
from linkwork.errors import InputError
from linkwork.inputs import above_zero, finite_floats
from linkwork.model.arrays import Floats
from linkwork.model.model import Model
from linkwork.model.poses import default_configuration
from linkwork.quantities.functions import constraint_jacobian, frame_jacobian, frame_placement
from linkwork.quantities.scales import joint_units

Bools = npt.NDArray[np.bool_]

JUMP = 1.0
"""A step of the grid that moves a joint by more, in rad or lengths of the robot, has left the branch of the loops."""


@dataclass(frozen=True)
class Conditioning:
    """Distances of configurations from singular ones: 0 there, at most 1; ``(...)`` each."""

    drivers: Floats
    """The least singular value of loops on the other joints over the largest: 0 where locked drivers hold nothing."""
    frame: Floats
    """That ratio of the velocity of the frame by those of drivers: 0 where a direction is lost."""


def conditioning(robot: Model, q: npt.ArrayLike, driver: str | Sequence[str], frame: str) -> Conditioning:
    """Distances of configurations from singularities of both kinds.

    Args:
        robot: The mechanism.
        q: Closed configurations, ``(..., nq)``.
        driver: A joint with one coordinate, or several, as many as there are degrees of freedom.
        frame: The frame or body whose position counts.
    """
    names = [driver] if isinstance(driver, str) else list(driver)
    held = [robot.v_index(name) for name in names]
    free = np.setdiff1d(np.arange(robot.nv), held)
    units = joint_units(robot)
    J = np.asarray(constraint_jacobian(robot, q))[..., which_enabled(robot), :] * units
    size = np.linalg.svd(J[..., free], compute_uv=False)
    held_by_drivers = np.zeros(J.shape[:-2]) if size.shape[-1] < len(free) else _least(size, len(free))
    slope = velocities(robot, q, names, frame) * units[held]
    lost: Bools = np.asarray(np.isnan(slope).any(axis=(-1, -2)))
    size = np.linalg.svd(np.where(lost[..., None, None], 0.0, slope), compute_uv=False)
    return Conditioning(held_by_drivers, np.where(lost, 0.0, _least(size, size.shape[-1])))


def _least(size: npt.NDArray[np.floating], count: int) -> Floats:
    """The least of some singular values over the largest; 0 where all are 0."""
    if not count:
        return np.ones(size.shape[:-1])
    largest = size[..., 0]
    ratios: Floats = size[..., count - 1] / np.where(largest > 0, largest, 1.0)
    return ratios


def velocities(robot: Model, q: npt.ArrayLike, driver: str | Sequence[str], frame: str) -> Floats:
    """The velocity of a frame's origin per unit velocity of drivers, ``(..., 3, drivers)``; NaN at dead centers.

    Args:
        robot: The mechanism.
        q: Closed configurations, ``(..., nq)``.
        driver: A joint with one coordinate, or several, as many as there are degrees of freedom.
        frame: Name of a frame or body.
    """
    slopes: Floats = frame_jacobian(robot, q, frame, "aligned")[..., 3:, :] @ rates(robot, q, driver)
    return slopes


def mechanical_advantage(robot: Model, q: npt.ArrayLike, driver: str, frame: str, direction: npt.ArrayLike) -> Floats:
    """The force that a frame exerts along a direction per unit force or torque of a driver, without losses, ``(...)``.

    By virtual work, one over the velocity of the frame along it: infinite where the output stands still.

    Args:
        robot: The mechanism.
        q: Closed configurations, ``(..., nq)``.
        driver: A joint with one coordinate.
        frame: Name of a frame or body, whose origin pushes.
        direction: In the world, three numbers; its length does not count.
    """
    along = finite_floats(direction, "direction")
    if along.shape != (3,) or not along.any():
        raise InputError(f"direction is {along.tolist()}, needs three numbers that are not all zero")
    with np.errstate(divide="ignore"):
        advantage: Floats = 1.0 / (velocities(robot, q, driver, frame)[..., 0] @ (along / np.linalg.norm(along)))
    return advantage


@dataclass(frozen=True)
class Workspace:
    """Configurations of a mechanism over a grid of its drivers, NaN where they cannot be reached."""

    drivers: Mapping[str, Floats]
    """Values of each driver, ``(n,)``: an axis of the grid."""
    q: Floats
    """``(..., nq)``, with one axis for each driver."""
    reached: Bools
    """``(...)``"""
    position: Floats
    """Of the frame, ``(..., 3)``."""
    conditioning: Conditioning
    """Distance of each from singularities; 0 where it is not reached."""

    def singular(self, below: float = 0.05) -> Bools:
        """Configurations that are reached and near a singularity, ``(...)``.

        Args:
            below: The conditioning at which they count as near.
        """
        least = np.minimum(self.conditioning.drivers, self.conditioning.frame)
        near: Bools = self.reached & (least < above_zero(below, "below"))
        return near

    def __repr__(self) -> str:
        return f"<Workspace over {', '.join(self.drivers)}: {int(self.reached.sum())} of {self.reached.size} reached>"


def workspace(
    robot: Model, frame: str, drivers: Mapping[str, npt.ArrayLike], q: npt.ArrayLike | None = None
) -> Workspace:
    """The reach of a frame over a grid of driver positions, on the branch of the loops that it starts on.

    From the grid point nearest to the start, each is assembled from neighbors that are reached, many at a time.

    Args:
        robot: The mechanism.
        frame: Name of a frame or body.
        drivers: Values of joints with one coordinate, ``(n,)`` each: as many joints as there are degrees of freedom.
        q: A configuration near the grid, ``(nq,)``; by default the assembled one.
    """
    axes = {name: finite_floats(values, f"drivers['{name}']").reshape(-1) for name, values in drivers.items()}
    if not axes or not all(map(len, axes.values())):
        raise InputError("drivers have no values: give joints with the positions that they take")
    places = [robot.q_index(name) for name in axes]
    shape = tuple(map(len, axes.values()))
    grid = np.stack(np.meshgrid(*axes.values(), indexing="ij"), axis=-1)
    start = np.array(default_configuration(robot) if q is None else q, dtype=np.float64)
    first = np.unravel_index(np.abs(grid - start[places]).sum(axis=-1).argmin(), shape)
    start[places] = grid[first]
    grid_q = np.full((*shape, robot.nq), np.nan)
    grid_q[first] = assemble(robot, start, tuple(axes)).q
    reached = np.zeros(shape, dtype=bool)
    reached[first] = True
    _fill(robot, Designs(robot, tuple(axes), ()), grid, places, grid_q, reached)
    position = np.full((*shape, 3), np.nan)
    position[reached] = frame_placement(robot, grid_q[reached], frame).position
    near = conditioning(robot, grid_q[reached], list(axes), frame)
    parts = np.zeros((2, *shape))
    parts[:, reached] = near.drivers, near.frame
    return Workspace(axes, grid_q, reached, position, Conditioning(*parts))


def _fill(robot: Model, designs: Designs, grid: Floats, places: list[int], grid_q: Floats, reached: Bools) -> None:
    """Assemble all points of a grid that neighbors lead to, in place."""
    units = joint_units(robot)
    front = reached.copy()
    while front.any():
        new = np.zeros_like(front)
        for axis in range(grid.ndim - 1):
            for way in (1, -1):
                to = _shifted(front, axis, way) & ~reached
                at = np.argwhere(to)
                if not len(at):
                    continue
                before = at.copy()
                before[:, axis] -= way
                guess = grid_q[tuple(before.T)]
                led = guess.copy()
                led[:, places] = grid[to]
                assembled = designs(led)
                free = np.abs(robot.difference(guess, assembled.q) / units)
                free[:, [robot.v_index(name) for name in designs.fixed]] = 0.0
                held = assembled.closed & (free.max(axis=-1, initial=0.0) < JUMP)
                kept = tuple(at[held].T)
                grid_q[kept] = assembled.q[held]
                reached[kept] = new[kept] = True
        front = new


def _shifted(mask: Bools, axis: int, way: int) -> Bools:
    """A mask moved by one along an axis; the entry at the end is false."""
    shifted = np.zeros_like(mask)
    whole = [slice(None)] * mask.ndim
    to, of = list(whole), list(whole)
    to[axis], of[axis] = (slice(1, None), slice(None, -1)) if way > 0 else (slice(None, -1), slice(1, None))
    shifted[tuple(to)] = mask[tuple(of)]
    return shifted

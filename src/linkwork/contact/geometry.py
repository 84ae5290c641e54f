# SPDX-License-Identifier: BSD-3-Clause
"""Contact points of a robot: gap, place and frame of each, in any configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy.typing as npt

from linkwork.compilers.program import Program
from linkwork.contact.coal import GivenContacts
from linkwork.conversions import converted
from linkwork.errors import InputError, UnsupportedFeature
from linkwork.kernels.contact.convex import NATIVE_CONTACT_POINTS
from linkwork.kernels.contact.shapes.geometry import CONTACT_POINTS
from linkwork.kernels.thresholds import NO_CONTACT
from linkwork.model.checks import check_robot
from linkwork.model.model import Model
from linkwork.model.named import Named
from linkwork.model.notebook import shape_table
from linkwork.plans.contacts import MeshKind, contact_slots, contact_tree
from linkwork.quantities.arguments import Array
from linkwork.quantities.base import NOTHING, BaseEvaluator
from linkwork.quantities.product_attributes import differentiable


class ContactPoints:
    """Contact points, one a slot, in the order of ``robot.contacts``. Leading axes are those of the batch.

    ``points["name"]`` are those of one pair.

    Args:
        gaps: Distances of the two surfaces, ``(..., nslots)``.
        points: Midway between them, ``(..., nslots, 3)``.
        frames: Contact frames, ``(..., nslots, 3, 3)``.
        slots: The slots of each pair, by name.
    """

    __slots__ = ("_slots", "frames", "gaps", "points")

    gaps: Array
    """Distances of the two surfaces less the margin, ``(..., nslots)``, negative where they overlap; 1e6 where a slot
    has no point."""
    points: Array
    """Midway between the two surfaces, in the world, ``(..., nslots, 3)``."""
    frames: Array
    """Columns t1, t2 and n of each contact frame, in world axes, ``(..., nslots, 3, 3)``; n points from the first shape
    to the second."""

    def __init__(self, gaps: Array, points: Array, frames: Array, slots: Named[slice]) -> None:
        self.gaps = gaps
        self.points = points
        self.frames = frames
        self._slots = slots

    @property
    def normals(self) -> Array:
        """Unit vectors from the first shape to the second, ``(..., nslots, 3)``."""
        return self.frames[..., 2]

    @property
    def exists(self) -> Array:
        """Whether a slot has a point, ``(..., nslots)``: two boxes that meet at an edge have fewer than four."""
        there: Array = self.gaps < NO_CONTACT
        return there

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the pairs."""
        return tuple(self._slots)

    def __getitem__(self, name: str) -> ContactPoints:
        at = self._slots[name]
        only = Named("", "contact", {name: slice(0, at.stop - at.start)})
        return ContactPoints(self.gaps[..., at], self.points[..., at, :], self.frames[..., at, :, :], only)

    def __iter__(self) -> Iterator[str]:
        return iter(self._slots)

    def __repr__(self) -> str:
        return f"ContactPoints(gaps={self.gaps!r})"

    def _repr_html_(self) -> str:
        return shape_table("ContactPoints", {"gaps": self.gaps, "points": self.points, "frames": self.frames})


@differentiable
class ContactGeometry(BaseEvaluator):
    """Where the contact pairs of a robot touch, or are nearest to each other: ``geometry(q).gaps``.

    Pairs of planes, spheres, capsules, boxes, cylinders, ellipsoids and height fields run as compiled code where there
    is kernel code for them. Others, meshes above all, are found by coal, state by state: ``linkwork[collide]``.

    Args:
        robot: The mechanism, with at least one contact pair.
        meshes: Representation of meshes: ``"hull"``, its convex hull; ``"triangles"``, its surface; ``"auto"``, the
            hull on bodies that move, triangles on the world.
        native: Whether hulls of meshes, and other convex shapes, have kernels of native code (no `compile()`, no
            derivatives, no coal); height fields then see edges and faces of shapes, not only ends and corners.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    @converted
    def __init__(
        self, robot: Model, *, meshes: MeshKind = "auto", native: bool = False, threads: int | None = None
    ) -> None:
        check_robot(robot)
        if not robot.contacts:
            raise UnsupportedFeature(f"robot '{robot.name}' has no contacts: give it some, robot.with_contacts(...)")
        self.given = GivenContacts(robot, meshes, native=native)
        """Contact points of pairs without kernel code: ``given(q)``, ``(..., ngiven, 7)``."""

        def program() -> Program:
            if native:
                return Program.of_robot(robot, NATIVE_CONTACT_POINTS, contact_tree(robot, meshes))
            return Program.of_robot(robot, CONTACT_POINTS, contact_tree(robot))

        super().__init__(
            robot, "contact points", program, {"robot": robot, "meshes": meshes, "native": native}, (), threads
        )

    def input_arrays(
        self,
        given: Sequence[Any],
        named: Mapping[str, Any] = NOTHING,
        parameters: Mapping[str, Any] = NOTHING,
        *,
        once: bool = False,
    ) -> list[Any]:
        """All inputs of the program; contact points that are not given are found for ``q``.

        Args:
            given: ``q``, and contact points that are given.
            named: Further inputs, by name.
            parameters: None: contact points have no parameters as inputs.
            once: Whether parameters are given once for many calls.
        """
        if len(given) == 1 and given[0] is not None and "given" not in named:
            given = [given[0], self.given(given[0]).astype(self.dtype, copy=False)]
        return super().input_arrays(given, named, parameters, once=once)

    def bind(self, *inputs: Array, out: Array | Sequence[Array], **parameters: Array) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes ``out``, without allocation: for control loops.

        Where pairs have no kernel code, ``given`` is read, too, and the caller fills it: ``given[...] =
        geometry.given(q)``.

        Args:
            inputs: ``q``, and ``given (..., ngiven, 7)`` where there are such pairs; read as they are at every call.
            out: Array that every call writes gaps to, or a tuple of three for gaps, points and frames.
            parameters: None: contact points have no parameters as inputs.
        """
        if len(inputs) == 1 and self.given.pairs:
            raise InputError(
                f"{self.given.pairs[0]} has no kernel code: bind q and given, an array of shape "
                f"(..., {self.given.count}, 7), and fill it before each call, given[...] = geometry.given(q)"
            )
        return super().bind(*inputs, out=out, **parameters)

    def __call__(self, q: npt.ArrayLike, *, out: Array | Sequence[Array] | None = None) -> ContactPoints:
        """Gaps, points and frames of all slots. Leading axes are batch axes.

        Args:
            q: Configuration, ``(..., nq)``.
            out: Array to write gaps to, or a tuple of three for gaps, points and frames; by default new ones.
        """
        typed = self.for_type_of([q, *(self.output_arrays(out) if out is not None else ())])
        gaps, points, frames = typed.runner.evaluate(typed.input_arrays([q]), typed.output_arrays(out))
        return ContactPoints(gaps, points, frames, self.keep("slots", lambda: contact_slots(self.robot)))

"""What all evaluators share: one quantity of one robot, ready to call with arrays."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from types import MappingProxyType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from linkwork.compilers.entry import SHAPES
from linkwork.compilers.run import NativeRunner, Runner, SpecializedRunner, Subject, best_lanes, default_threads
from linkwork.compilers.trace import MAX_OPERATIONS, trace
from linkwork.errors import InputError, NotFinite, UnsupportedFeature
from linkwork.inputs import Lanes, Precision, Quantity, Reference
from linkwork.kernels import (
    aba,
    actuation,
    crba,
    kinematics,
    passive,
    rnea,
)
from linkwork.kernels import (
    centroidal as centroid,
)
from linkwork.kernels import (
    constraints as loops,
)
from linkwork.kernels.algorithm import Algorithm
from linkwork.model.model import Model
from linkwork.plans.actuation import actuation_tree
from linkwork.plans.constraints import constrained_tree
from linkwork.plans.tree import ALIGNED, LOCAL, WORLD_ORIGIN, Tree, tree_of, unit_ranges

Array = npt.NDArray[Any]


_LOCK = threading.RLock()
"""Around what evaluators make when they are first called."""


_empty = np.empty


QUANTITIES: Mapping[str, Algorithm] = MappingProxyType(
    {
        "forward_dynamics": aba.ABA,
        "inverse_dynamics": rnea.RNEA,
        "mass_matrix": crba.CRBA,
        "inverse_mass_product": aba.INVERSE_MASS,
        "bias_forces": rnea.BIAS,
        "passive_forces": passive.PASSIVE,
        "gravity_forces": rnea.GRAVITY,
        "frame_placement": kinematics.PLACEMENTS,
        "frame_velocity": kinematics.VELOCITIES,
        "frame_acceleration": kinematics.ACCELERATIONS,
        "frame_jacobian": kinematics.JACOBIANS,
        "center_of_mass": centroid.CENTER_OF_MASS,
        "centroidal_momentum": centroid.MOMENTUM,
        "energy": centroid.ENERGIES,
        "constraint_error": loops.ERRORS,
        "constraint_jacobian": loops.CONSTRAINT_JACOBIAN,
        "constraint_bias": loops.CONSTRAINT_BIAS,
        "constraint_target": loops.TARGET,
        "actuator_torques": actuation.ACTUATOR_TORQUES,
        "gravity_compensation": actuation.GRAVITY_COMPENSATION,
    }
)
"""The algorithms of quantities, by name."""


OF_CONSTRAINTS = ("constraint_error", "constraint_jacobian", "constraint_bias", "constraint_target")
"""Quantities that look at the constraints of a robot; the others are those of its tree."""


OF_ACTUATORS = ("actuator_torques", "gravity_compensation")
"""Quantities that look at what drives a robot."""


REFERENCES: Mapping[str, int] = MappingProxyType({"local": LOCAL, "aligned": ALIGNED, "world": WORLD_ORIGIN})
"""Axes of vectors at frames: the frame's own; the world's, at the frame's origin; spatial, at the world's origin."""


def _remembered(init: Callable[..., None]) -> Callable[..., None]:
    """A constructor that keeps its arguments in ``_arguments``: those of the class that is made, not of its bases."""

    @wraps(init)
    def remembering(self: Evaluator, *given: Any, **named: Any) -> None:
        if "_arguments" not in self.__dict__:
            self._arguments = [_own(x) for x in given], {name: _own(x) for name, x in named.items()}
        init(self, *given, **named)

    return remembering


def _own(x: Any) -> Any:
    """An argument that nobody else changes."""
    return x.copy() if isinstance(x, np.ndarray | list) else x


def _remade(kind: type[Evaluator], given: Any, named: Any, ran: Sequence[tuple[str, dict[str, Any]]]) -> Evaluator:
    """An evaluator from what `Evaluator.__reduce__` says of it."""
    made = kind(*given, **named)
    for way, how in ran:
        made = getattr(made, way)(**how)
    return made


class Evaluator:
    """One quantity of one robot, ready to call with its inputs: ``evaluator(q, v, ...)``.

    It runs native code; `compile` and `plain` make evaluators that run the same text another way.
    ``frames`` are the frames that the quantity is about, or that external wrenches act on.

    Evaluators are pickled and copied by their arguments: what is read elsewhere, in a process of `multiprocessing` for
    one, has its machine code from the cache there.

    Args:
        robot: The mechanism.
        quantity: What to compute.
        frames: Frames that the quantity is about, or that external wrenches act on.
        reference: Axes of vectors at frames: ``"local"``, the frame's own; ``"aligned"``, the world's at the frame's
            origin; ``"world"``, the world's at its own origin.
        threads: Threads that share a large batch; by default as many as there are cores.
    """

    _arguments: tuple[list[Any], dict[str, Any]]
    """What it was made with."""
    _ran: tuple[tuple[str, dict[str, Any]], ...] = ()
    """Calls of `native`, `plain` and `compile` that led to it, with their arguments."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__init__" in cls.__dict__:
            cls.__init__ = _remembered(cls.__init__)  # type: ignore[method-assign]

    @_remembered
    def __init__(
        self,
        robot: Model,
        quantity: Quantity,
        frames: Sequence[str] = (),
        reference: Reference = "local",
        threads: int | None = None,
    ) -> None:
        if not isinstance(robot, Model):
            raise InputError(f"robot is {type(robot).__name__}, needs a Mechanism (from load, Builder or compose)")
        if quantity not in QUANTITIES:
            raise InputError(f"no quantity '{quantity}'; there are {', '.join(QUANTITIES)}")
        if not isinstance(reference, str) or reference not in REFERENCES:
            raise InputError(f"reference {reference!r} is none of {', '.join(REFERENCES)}")
        if quantity == "frame_acceleration" and reference == "world":
            raise InputError(
                "the acceleration of a point has no meaning at the world's origin: use 'local' or 'aligned'"
            )
        if quantity == "actuator_torques" and robot.actuators:
            check_actuators(robot)
        if quantity in OF_ACTUATORS:
            tree = actuation_tree(robot)
        else:
            arrays_of = constrained_tree if quantity in OF_CONSTRAINTS else tree_of
            tree = arrays_of(robot, self._frames(frames), REFERENCES[reference])
        self._prepare(robot, quantity, QUANTITIES[quantity], tree, frames, threads)

    @staticmethod
    def _frames(frames: str | Sequence[str]) -> tuple[str, ...]:
        return _names(frames)

    def _prepare(
        self,
        robot: Model,
        quantity: str,
        algorithm: Algorithm,
        tree: Tree,
        frames: Sequence[str],
        threads: int | None,
    ) -> None:
        """Everything but the machine code."""
        self.robot = robot
        self.quantity = quantity
        self.frames = _names(frames)
        motors = len(robot.actuators) or sum(j.type.nv for j in robot.joints if j.actuated)
        self._subject = Subject(algorithm, tree, unit_ranges(robot), robot.name, motors)
        self._threads = thread_count(threads)
        self._lanes: int | None = None
        self._typed = False
        self._inputs = list(self._subject.algorithm.inputs)
        self._output_shapes = self._subject.output_shapes()
        self._be(None, "float64")

    def _be(self, runner: Runner | None, dtype: str) -> None:
        """Trajectory this way; without a runner, natively from the first call on."""
        self._made = runner
        self._entry: Callable[..., int] = self._first_call if runner is None else runner.entry
        self._dtype: np.dtype[Any] = np.dtype(dtype)
        self._rest = np.zeros((len(self.frames), 6), dtype=dtype)

    def _first_call(self, *arrays: Any) -> int:
        """Code for one state is compiled when one state is asked for."""
        runner = self._runner
        if any(getattr(x, "ndim", len(shape)) != len(shape) for x, shape in zip(arrays, runner.shapes, strict=False)):
            return SHAPES
        self._entry = runner.entry
        return self._entry(*arrays)

    @property
    def _runner(self) -> Runner:
        if self._made is None:
            with _LOCK:
                if self._made is None:
                    self._made = NativeRunner(self._subject, self._threads, self._dtype.name, self._lanes)
        return self._made

    def _running(self, runner: Runner) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._be(runner, runner.dtype.name)
        return other

    @property
    def way(self) -> str:
        """How the text is run: ``"plain"``, ``"native"`` or ``"specialized"``."""
        return "native" if self._made is None else self._made.way

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers computed with."""
        return self._dtype

    def native(self, dtype: Precision = "float64", lanes: Lanes = "auto", threads: int | None = None) -> Self:
        """The same, running native code with numbers of one type, whatever the type of arguments.

        An evaluator runs native code from the start, in ``float64``; where all arguments are ``float32`` arrays it does
        so in ``float32``, and so are its results.

        Args:
            dtype: Numbers to compute with.
            lanes: States that share one SIMD register in batches; ``"auto"``: as many as fit this machine.
            threads: Threads that share a large batch; by default as many as this evaluator has.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._threads = self._threads if threads is None else thread_count(threads)
        other._lanes = None if lanes == "auto" else _checked_lanes(lanes)
        other._typed = True
        other._be(None, _checked_dtype(dtype))
        other._ran = (*self._ran, ("native", {"dtype": dtype, "lanes": lanes, "threads": threads}))
        return other

    def _in_type_of(self, inputs: Sequence[Any]) -> Self:
        """This evaluator, or the same in single precision where all that was given is."""
        single = all(getattr(x, "dtype", None) == np.float32 for x in inputs if x is not None)
        if not single or self._typed or self.way != "native" or self._dtype == np.float32:
            return self
        with _LOCK:
            found: Self | None = self.__dict__.get("_single")
            if found is None:
                found = self._single = self.native("float32")
        return found

    def plain(self) -> Self:
        """The same, running the Python text as it stands: slow, for debugging."""
        other = self._running(Runner(self._subject))
        other._ran = (*self._ran, ("plain", {}))
        return other

    def compile(
        self,
        lanes: Lanes = "auto",
        dtype: Precision = "float64",
        threads: int | None = None,
        max_operations: int = MAX_OPERATIONS,
    ) -> Self:
        """The same, running a straight-line program made for this robot.

        Takes seconds the first time; the code is kept on disk. Raises `ProgramTooLarge` where the program would have
        too many operations: stay native there.

        Args:
            lanes: States that share one SIMD register in batches; ``"auto"``: as many as fit this machine.
            dtype: Numbers to compute with.
            threads: Threads that share a large batch; by default as many as this evaluator has.
            max_operations: The most operations that a program may have.
        """
        count = best_lanes(_checked_dtype(dtype)) if lanes == "auto" else _checked_lanes(lanes)
        shared = self._threads if threads is None else thread_count(threads)
        other = self._running(SpecializedRunner(self._program(), dtype, count, shared, max_operations))
        other._threads = shared
        how = {"lanes": lanes, "dtype": dtype, "threads": threads, "max_operations": max_operations}
        other._ran = (*self._ran, ("compile", how))
        return other

    def _program(self) -> Subject:
        """What a straight-line program is to compute."""
        return self._subject

    def __call__(self, *inputs: npt.ArrayLike, out: Array | Sequence[Array] | None = None) -> Any:
        """Evaluate: one array, or a tuple where the quantity has several.

        Args:
            inputs: Arrays, in the order of the quantity's inputs; leading axes are batch axes and broadcast.
            out: Array to write the result to, or a tuple of as many as there are results; by default new ones.
        """
        if out is None:
            results = [_empty(shape, self._dtype) for shape in self._output_shapes]
            if not self._entry(*inputs, *results):
                return results[0] if len(results) == 1 else tuple(results)
        typed = self._in_type_of([*inputs, *self._targets(out)])
        results = typed._runner.evaluate(typed._complete(inputs), self._targets(out))
        return results[0] if len(results) == 1 else tuple(results)

    def bind(self, *inputs: Array, out: Array | Sequence[Array]) -> Callable[[], None]:
        """A call without arguments that reads these arrays and writes ``out``, allocating nothing: for control loops.

        ``out`` is the array of the main output, or a tuple of all outputs in their order; an error names them. The
        arrays must fit as they are (C-contiguous, of this evaluator's dtype, one state or one batch axis). Shapes are
        checked here, numbers at every call. The call is for one thread at a time, as its arrays are.

        Args:
            inputs: Arrays that every call reads as they then are.
            out: Array that every call writes, or a tuple of as many as there are results.
        """
        targets = self._targets(out)
        alone = isinstance(out, np.ndarray) and len(targets) > 1
        if alone:
            lead = targets[0].shape[: max(0, targets[0].ndim - len(self._output_shapes[0]))]
            targets[1:] = [np.empty((*lead, *shape), self._dtype) for shape in self._output_shapes[1:]]
        arrays = [*self._complete(inputs), *targets]
        wrong = self._runner.misfit(arrays)
        if wrong:
            raise InputError(f"bind: {wrong}")
        entry = self._runner.own_entry(arrays[-1].ndim > len(self._output_shapes[-1]))
        runner, count = self._runner, len(self._inputs)

        def step() -> None:
            status = entry(*arrays)
            if status:
                runner.explain(status, arrays[:count], arrays[count:])

        verify = self._verification(alone)
        if verify is None:
            return step

        def verified_step() -> None:
            try:
                step()
            except NotFinite:
                verify(arrays[-1])  # may know why
                raise
            verify(arrays[-1])

        return verified_step

    def _verification(self, alone: bool) -> Callable[[Array], None] | None:
        """What raises an error where the last output says that results mean nothing, if anything does.

        ``alone`` says that the caller has only the main output, and does not see the last.
        """
        return None

    def operation_count(self) -> OperationCount:
        """Exact count of the operations of one evaluation, from the trace of the text for this robot."""
        traced = trace(self._subject.algorithm, self._subject.tree, limit=sys.maxsize)
        iteration = sum(traced.iterate.operation_count().values()) if traced.iterate else 0
        return OperationCount(traced.operation_count(), iteration=iteration)

    def _complete(self, inputs: Sequence[npt.ArrayLike | None]) -> list[npt.ArrayLike]:
        """The inputs, with no external wrenches if none are given."""
        names = self._inputs
        given: list[Any] = list(inputs)
        if names[-1] == "wrenches":
            if len(given) == len(names) - 1:
                given.append(self._rest)
            elif len(given) == len(names) and given[-1] is None:
                given[-1] = self._rest
        if len(given) != len(names):
            raise InputError(f"{self.quantity} takes {', '.join(names)}; {len(given)} arguments were given")
        return given

    def _targets(self, out: Array | Sequence[Array] | None) -> list[Any]:
        count = len(self._output_shapes)
        if out is None:
            return [None] * count
        if count == 1:
            return [out]
        if isinstance(out, np.ndarray):
            return [out, *[None] * (count - 1)]
        if not isinstance(out, tuple | list) or len(out) != count:
            names = list(self._subject.algorithm.outputs)
            each = ", ".join(f"{name} {shape}" for name, shape in zip(names, self._output_shapes, strict=True))
            found = f"{len(out)} arrays" if isinstance(out, tuple | list) else type(out).__name__
            raise InputError(
                f"{self.quantity} writes {each}: out is an array for {names[0]}, or ({', '.join(names)}); found {found}"
            )
        return list(out)

    def _without_numbers(self, inputs: Sequence[npt.ArrayLike]) -> str:
        """Which state of a batch has results that are not finite, in words; nothing for one state alone."""
        shapes = self._subject.input_shapes()
        given = [np.asarray(x, dtype=np.float64) for x in inputs]
        lead = np.broadcast_shapes(*(x.shape[: x.ndim - len(s)] for x, s in zip(given, shapes, strict=True)))
        full = [np.broadcast_to(x, (*lead, *shape)) for x, shape in zip(given, shapes, strict=True)]
        for k in np.ndindex(*lead) if lead else ():
            try:
                self._runner.evaluate([x[k] for x in full], [None] * len(self._output_shapes))
            except NotFinite:
                return f" in state {k}"
        return ""

    def __reduce__(self) -> tuple[Any, ...]:
        given, named = self._arguments
        made = signature(type(self)).bind(*given, **named)
        if "method" in made.signature.parameters:
            made.arguments["method"] = self.method  # type: ignore[attr-defined]  # the one that "auto" stands for
        return _remade, (type(self), made.args, made.kwargs, self._ran)

    def __repr__(self) -> str:
        by = f" by {self.method}" if hasattr(self, "method") else ""
        return f"<{type(self).__name__} {self.quantity} of '{self.robot.name}'{by}, {self.way}, {self._dtype}>"


class OperationCount(dict[str, int]):
    """How often each operation is done: of a method that iterates, in the first iteration.

    Args:
        counts: Operations by name.
        iteration: All operations of each further iteration.
    """

    def __init__(self, counts: Mapping[str, int] = MappingProxyType({}), iteration: int = 0) -> None:
        super().__init__(counts)
        self.iteration = iteration
        """All operations of each further iteration."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.values())


def operation_count(evaluator: Evaluator) -> OperationCount:
    """Exact count of + - * / sqrt sincos of one evaluation: a benchmark without noise.

    Args:
        evaluator: What is evaluated.
    """
    return evaluator.operation_count()


def check_actuators(robot: Model) -> None:
    """Raise unless the robot has actuators and the forces of all of them are known."""
    if not robot.actuators:
        raise InputError(f"robot '{robot.name}' has no actuators, so that it takes no commands: give torques")
    for actuator in robot.actuators:
        if actuator.refused:
            raise UnsupportedFeature(
                f"actuator '{actuator.name}' of '{robot.name}' is {actuator.refused}, whose force is not modeled: "
                "give torques of the joints instead of commands",
                subject=actuator.name,
            )


def _names(frames: str | Sequence[str]) -> tuple[str, ...]:
    """Frame names as a tuple."""
    if isinstance(frames, str):
        return (frames,)
    if not isinstance(frames, Sequence) or not all(isinstance(name, str) for name in frames):
        raise InputError(f"frames are names, one or a list of them; found {frames!r}")
    return tuple(frames)


def _checked_dtype(dtype: str) -> str:
    if dtype not in ("float64", "float32"):
        raise InputError(f"dtype '{dtype}' is neither 'float64' nor 'float32'")
    return dtype


def _checked_lanes(lanes: int | str) -> int:
    if not isinstance(lanes, int) or lanes not in (1, 2, 4, 8, 16):
        raise InputError(f"lanes is {lanes!r}, needs 'auto' or one of 1, 2, 4, 8, 16")
    return lanes


def thread_count(threads: int | None) -> int:
    """How many threads share a large batch: so many, or as many as there are cores."""
    if threads is None:
        return default_threads()
    if not isinstance(threads, int) or threads < 1:
        raise InputError(f"threads is {threads!r}, needs a whole number above zero")
    return threads

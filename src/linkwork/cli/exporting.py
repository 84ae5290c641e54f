"""From a file to C source."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, cast

from rich.console import Console
from rich.text import Text

import linkwork as lw
from linkwork.cli.counting import known_methods
from linkwork.cli.looking import Look, Misused, read
from linkwork.cli.terminal import patience, printable
from linkwork.dynamics.inverse import METHODS as OF_INVERSE
from linkwork.dynamics.operational import METHODS as OF_INERTIA
from linkwork.errors import InputError
from linkwork.export import CProgram, export_c
from linkwork.export.comments import operations_of
from linkwork.export.writing import identifier
from linkwork.inputs import suggest
from linkwork.mechanism import Mechanism
from linkwork.quantities.base import BaseEvaluator
from linkwork.simulation import Stepper


class Wanted(NamedTuple):
    """What to export, as it was asked for."""

    what: str
    method: str | None
    frames: tuple[str, ...]
    arguments: tuple[str, ...]
    dtype: str
    iterations: int | None
    dt: float


def export_file(file: Path, how: Look, wanted: Wanted, name: str | None, out: Path | None) -> CProgram:
    """Load a model and write the program of one of its functions."""
    robot, _ = read(file, how)
    default = name or identifier(f"{robot.name}_{wanted.what}")
    place = out if out is not None else Path(f"{default}.c")
    try:
        with patience(f"writing {wanted.what} of '{robot.name}'"):
            return export_c(
                evaluator_of(robot, wanted), place, name=name, dtype=cast(Any, wanted.dtype), arguments=wanted.arguments
            )
    except InputError as error:
        raise Misused(str(error)) from None


def evaluator_of(robot: Mechanism, wanted: Wanted) -> BaseEvaluator:
    """What computes it."""
    for frame in wanted.frames:
        if frame not in robot.frames:
            raise Misused(f"--frame: '{robot.name}' has no frame '{frame}'{suggest(frame, list(robot.frames))}")
    quantity = wanted.what.replace("-", "_")
    if quantity != "forward_dynamics" and wanted.iterations is not None:
        raise Misused("--iterations is for forward-dynamics")
    match quantity:
        case "forward_dynamics":
            (method,) = known_methods(robot, [wanted.method or "auto"])
            more: dict[str, Any] = {} if wanted.iterations is None else {"max_iterations": wanted.iterations}
            return lw.ForwardDynamics(robot, cast(Any, method), wrenches=wanted.frames, **more)
        case "inverse_dynamics":
            method = "auto" if wanted.method is None else _one_of(wanted.method, tuple(OF_INVERSE))
            return lw.InverseDynamics(robot, cast(Any, method), wrenches=wanted.frames)
        case "operational_inertia":
            _needs_frames(wanted)
            method = _one_of(wanted.method or "efpa", tuple(OF_INERTIA))
            return lw.OperationalInertia(robot, wanted.frames, cast(Any, method))
    if wanted.method is not None:
        raise Misused(f"--method: {wanted.what} has one method only")
    if quantity == "step":
        return Stepper(robot, dt=wanted.dt)
    if quantity.startswith("frame_"):
        _needs_frames(wanted)
    elif wanted.frames:
        raise Misused(f"--frame: {wanted.what} is about no frames")
    if quantity.startswith("constraint_") and not robot.constraints:
        raise Misused(f"--what: '{robot.name}' has no constraints")
    return lw.Evaluator(robot, cast(Any, quantity), wanted.frames)


def _one_of(method: str, known: tuple[str, ...]) -> str:
    if method not in known:
        raise Misused(f"--method: no method '{method}'{suggest(method, list(known))} (there are {', '.join(known)})")
    return method


def _needs_frames(wanted: Wanted) -> None:
    if not wanted.frames:
        raise Misused(f"--frame: {wanted.what} needs one frame or more")


def draw_export(console: Console, program: CProgram) -> None:
    """What was written, for people."""
    arrays = ", ".join(f"{name}[{size}]" for name, size in (*program.inputs.items(), *program.outputs.items()))
    lines = {
        "source": str(program.source),
        "header": str(program.header),
        "function": f"{program.name}({arrays})",
        "one call": f"{operations_of(program.operations)}; {program.stack} bytes of arrays on the stack",
    }
    for word, text in lines.items():
        console.print(Text(f"  {word:<12}", "dim") + Text(printable(text)), overflow="fold")


def export_json(file: Path, program: CProgram) -> dict[str, Any]:
    """The same for scripts; keys are explained in docs/cli.md."""
    return {
        "linkwork": lw.__version__,
        "file": str(file),
        "function": program.name,
        "source": str(program.source),
        "header": str(program.header),
        "dtype": program.dtype,
        "inputs": dict(program.inputs),
        "outputs": dict(program.outputs),
        "total": program.operations.total,
        "iteration": program.operations.iteration,
        "operations": dict(program.operations),
        "stack": program.stack,
    }

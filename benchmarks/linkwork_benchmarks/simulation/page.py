# SPDX-License-Identifier: BSD-3-Clause
"""The page of results, in Markdown. No number on it is written by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from linkwork_benchmarks import report, tables
from linkwork_benchmarks.report import Results
from linkwork_benchmarks.simulation.scenarios import (
    PEERS,
    SCENARIOS,
    Energy,
    Loops,
    Minimal,
    Momentum,
    Order,
    Speed,
    Trajectory,
    WholeBody,
)

PAGE = report.REPOSITORY / "docs" / "internals" / "simulation-benchmarks.md"

BACKENDS = {
    "batch": "batch",
    "batch_two_threads": "batch, two threads",
    "specialized": "specialized",
    "native": "native",
    "mj_step": "`mj_step`",
    "mujoco.rollout": "`mujoco.rollout`",
}


def write(results: Results, page: Path | None = None) -> Path:
    """Write the page."""
    page = page or PAGE
    sections = (
        _introduction(results),
        _speed(results),
        _conserved(results),
        _loops(results),
        _minimal(results),
        _orders(results),
        _trajectories(results),
        _whole_body(results),
        tables.notes(results),
    )
    return tables.write_page(page, sections)


def _introduction(results: Results) -> str:
    return (
        "# Motion in time, measured\n\n"
        "Made by `python -m linkwork_benchmarks simulation_page` from the result file of "
        "`python -m linkwork_benchmarks simulation`: every number on this page. "
        f"{tables.circumstances(results, mujoco=True)} How to simulate: [Simulation](../how-to/simulation.md)."
    )


def _get(results: Results, name: str, key: str) -> float | None:
    found: float | None = results["metrics"].get(f"{name}.{key}")
    return found


def _small(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}e}"


def _measured(results: Results, kind: type) -> list[Any]:
    """Scenarios of a kind that have results."""
    return [s for s in SCENARIOS if isinstance(s, kind) and any(k.startswith(f"{s.name}.") for k in results["metrics"])]


def _speed(results: Results) -> str:
    rows = []
    for s in _measured(results, Speed):
        cells = [tables.time(_get(results, s.name, f"us.{backend}")) for backend in BACKENDS]
        ratio, threads = (_get(results, s.name, key) or 0.0 for key in ("ratio", "threads"))
        rate = _get(results, s.name, "steps_a_second") or 0.0
        rows.append((s.system, *cells, f"{ratio:.1f}×", f"{threads:.2f}×", f"{tables.whole(round(rate, -3))}"))
    titles = ("robot", *BACKENDS.values(), "batch beside MuJoCo", "two threads", "steps a second on one core")
    return (
        ""
        if not rows
        else "## How fast\n\n"
        "Microseconds for one step of one robot: semi-implicit Euler, 1 ms, loops, springs, dampers and stops, no "
        "controller, no contacts; MuJoCo steps the same file with contacts off. *batch*: 4096 robots at once; "
        "*specialized* and *native*: one robot, 2000 steps a call. One thread, best of rounds that take turns in one "
        f"process; MuJoCo's better figure counts.\n\n{tables.table(titles, rows)}"
    )


def _conserved(results: Results) -> str:
    energies = [
        (
            s.system,
            _small(_get(results, s.name, "drift")),
            _small(_get(results, s.name, "joules")),
            _small(_get(results, s.name, "open")),
        )
        for s in _measured(results, Energy)
    ]
    momenta = [
        f"- Momentum of {s.system}, floating without gravity for {s.seconds:g} s, with `{s.integrator}`: "
        f"changes by {_small(_get(results, s.name, 'change'))} (kg m/s, kg m²/s), "
        f"{_small(_get(results, s.name, 'relative'))} of it."
        for s in _measured(results, Momentum)
    ]
    if not energies and not momenta:
        return ""
    titles = ("10 s without friction", "energy drift, relative", "in joules", "loops open by, m or rad")
    return (
        "## What is conserved\n\nRunge and Kutta's method with steps of 1 ms; Cassie falls freely.\n\n"
        f"{tables.table(titles, energies)}\n\n" + "\n".join(momenta)
    )


def _loops(results: Results) -> str:
    found: dict[str, dict[bool, Loops]] = {}
    for s in _measured(results, Loops):
        found.setdefault(s.system, {})[bool(s.project_every)] = s
    rows = [
        (system, *(_small(_get(results, by[p].name, "open")) if p in by else "–" for p in (False, True)))
        for system, by in found.items()
    ]
    titles = ("100 s of random torques", "pulled closed in 5 ms (the default)", "projected every 10 steps")
    return (
        ""
        if not rows
        else "## Loops that stay closed\n\n"
        "The most that any loop opens, in meters: semi-implicit Euler with steps of 1 ms, every motor pushes at random "
        "(normal, 1 N m, anew every 10 ms). Errors of this method grow with the square of speeds.\n\n"
        f"{tables.table(titles, rows)}"
    )


def _minimal(results: Results) -> str:
    rows = []
    for s in _measured(results, Minimal):
        for precision in ("double", "single"):
            times = [tables.time(_get(results, s.name, f"us.{precision}.{key}")) for key in ("joints", "minimal")]
            ratio, gap = (_get(results, s.name, f"{key}.{precision}") for key in ("ratio", "open"))
            seconds = _get(results, s.name, "seconds") or 0.0
            rows.append(
                (
                    f"{s.system}, `{s.integrator}`, {precision}",
                    *times,
                    f"{ratio or 0.0:.2f}×",
                    _small(gap),
                    f"{seconds:g} s",
                )
            )
    titles = ("robot, integrator, precision", "all joints (`lcaba`)", "`minimal`", "faster by", "loops open by", "over")
    return (
        ""
        if not rows
        else "## In minimal coordinates\n\n"
        "Microseconds for one step of one robot in a batch on one thread, 1 ms: `lcaba` on all joints beside "
        '`method="minimal"`, best of rounds that take turns in one process. Then the most that any loop of 8 robots is '
        "open, in meters, while every motor pushes at random (normal, 1 N m, anew every 10 ms).\n\n"
        f"{tables.table(titles, rows)}"
    )


def _orders(results: Results) -> str:
    rows = [
        (f"`{s.integrator}`, {s.system}", f"{_get(results, s.name, 'order'):.2f}") for s in _measured(results, Order)
    ]
    return (
        ""
        if not rows
        else "## Orders\n\nThe power of the step by which errors fall when it is halved.\n\n"
        + tables.table(("integrator", "order"), rows)
    )


def _trajectories(results: Results) -> str:
    found: dict[str, dict[tuple[str, float], Trajectory]] = {}
    for s in _measured(results, Trajectory):
        found.setdefault(s.system, {})[s.peer, s.dt] = s
    columns = [*((peer, 1e-3) for peer in PEERS), ("mujoco", 1e-3), ("mujoco", 1e-4)]
    titles = ["1 s of motion", *(f"`{peer}`, {dt * 1e3:g} ms" for peer, dt in columns)]
    rows = [
        (system, *(_small(_get(results, by[c].name, "difference")) if c in by else "–" for c in columns))
        for system, by in found.items()
    ]
    return (
        ""
        if not rows
        else "## The same motion elsewhere\n\n"
        "The largest difference of any coordinate over one second (m, rad). Pinocchio: its solver inside the same "
        "method of Runge and Kutta, loops as points, no stabilization on either side; its `lcaba` with damping 1e-2 "
        "and 50 iterations, which is where it is most exact. MuJoCo: its own RK4, equalities as stiff as steps allow "
        f"(time constant of two steps, impedance 0.9999).\n\n{tables.table(titles, rows)}"
    )


def _whole_body(results: Results) -> str:
    rows = [
        (s.system, *(_small(_get(results, s.name, key)) for key in ("off", "open")))
        for s in _measured(results, WholeBody)
    ]
    return (
        ""
        if not rows
        else "## Whole bodies under control\n\n"
        "Motors follow a path of the center of mass by task-space inverse dynamics while limbs are held (**proximal** "
        "Figs. 9 to 11): Cassie on heels and toes, Talos by feet and grippers, ANYmal on its feet. 4 s, steps of 1 ms "
        "by rk4; m.\n\n" + tables.table(("robot", "center of mass off its path", "constraints open"), rows)
    )

# SPDX-License-Identifier: BSD-3-Clause
"""Sections of the page about motion: facts of mechanics, energies, impacts, random scenes, MuJoCo's motion."""

from __future__ import annotations

from collections.abc import Callable

from linkwork_benchmarks import tables
from linkwork_benchmarks.contact.bars import Bar, Metrics
from linkwork_benchmarks.contact.motions import COMPARED
from linkwork_benchmarks.contact.physics import SCENES
from linkwork_benchmarks.report import Results

FACTS: tuple[tuple[str, str, str], ...] = (
    ("A box slips on a slope whose tangent is beyond friction by this part of it", "slope.most", ""),
    ("Distance in which friction stops a box: order in the step", "sliding.order", ""),
    ("its error with steps of 1 ms, at 1 m/s (half a step's way is 0.5 mm)", "sliding.distance", "m"),
    ("time in which it stops: error at most, in steps", "sliding.steps_late", ""),
    ("A ball comes to roll at 5/7 of its velocity: error", "rolling.velocity", "m/s"),
    ("energy of the ball while it rolls: change, relative", "rolling.energy", ""),
    ("A disc that spins on four points is slowed by 2 mu g / radius: error, relative", "spinning.deceleration", ""),
    ("Heights of bounces, restitution 0.5 to 1: order in the step", "bouncing.order", ""),
    ("A stack of 20 boxes moves by", "stack.moved", "m"),
    ("in", "stack.seconds", "s"),
    ("A capsule between two pads creeps by", "pinching.creep", "m/s"),
    ("the same in MuJoCo, as it is by default", "pinching.mujoco", "m/s"),
    ("Balls that collide in space: momentum lost, relative", "colliding.momentum", ""),
    ("their restitution: error", "colliding.restitution", "m/s"),
    ("Dominoes that fall, of 10", "falling.dominoes", ""),
    ("A house of cards with friction 0.6 moves by", "falling.cards.0.6", "m"),
    ("with friction 0.2, less than its lean", "falling.cards.0.2", "m"),
)

DIFFERENCES = {
    "box that slides": "MuJoCo's box hops while it slides: its friction is associated, sliding bodies separate",
    "ball that comes to roll": "the same",
    "boxes on a slope": "what sticks creeps there, for the time constant of its friction",
    "box that rocks": "impacts on edges are spread over two time constants there",
    "three dominoes": "the same; errors of impacts add up",
    "pinched capsule": "it sinks there by the compliance of friction",
    "ball on soft ground": "the spring is implicit here, which damps it by an amount of first order",
    "box that slides on soft ground": "both",
    "box that slides and spins": "forces of four corners are not determined by rigid bodies; each chooses its own",
}
"""Why motions differ."""


def sections(results: Results) -> list[str]:
    """All of them; empty where nothing was measured."""
    metrics = results["metrics"]
    made: tuple[Callable[[Metrics], str], ...] = (_facts, _energies, _impacts, _random, _mujoco)
    return [section(metrics) for section in made]


def _small(value: float | None) -> str:
    return "–" if value is None else f"{value:.2g}"


def _facts(metrics: Metrics) -> str:
    rows = [
        (text, f"{_small(metrics.get(f'physics.{key}'))} {unit}".strip())
        for text, key, unit in FACTS
        if f"physics.{key}" in metrics
    ]
    return "" if not rows else f"## Mechanics\n\n{tables.table(('fact', 'found'), rows)}"


def _energies(metrics: Metrics) -> str:
    rows = []
    for name in SCENES:
        get = {key: metrics.get(f"motion.{name}.{key}") for key in ("steps", "unsolved", "residual", "penetration")}
        if get["steps"] is None:
            continue
        counts = [metrics.get(f"motion.{name}.iterations.{key}") for key in ("mean", "most")]
        gains = [metrics.get(f"motion.{name}.energy.{key}") for key in ("rise", "gain", "pushed")]
        unsolved = f"{tables.whole(get['unsolved'])} of {tables.whole(get['steps'])}"
        cells = (_small(get["residual"]), *map(_small, counts), *map(_small, gains), _small(get["penetration"]))
        rows.append((name, unsolved, *cells))
    titles = (
        "scene",
        "steps not solved",
        "residual, m/s",
        "iterations, mean",
        "most",
        "energy rises by",
        "less what pushing added",
        "pushing added",
        "penetration, m",
    )
    return (
        ""
        if not rows
        else "## Energy of scenes\n\n"
        "Scenes without restitution and motors, steps of 1 ms, warm starts. Energy may not rise: contacts take it, by "
        "Signorini's law and maximum dissipation, exactly. Two things add to it. Bodies that penetrate are pushed "
        "apart (third column of energies). And semi-implicit Euler holds inertias and gyroscopic forces over a step: "
        "bodies that turn fast (disc on its rim, top, rattleback, pendulums of the cradle) gain or lose an amount of "
        "first order in the step; that is what remains in the second. All as parts of the largest energy.\n\n"
        f"{tables.table(titles, rows)}"
    )


def _impacts(metrics: Metrics) -> str:
    rows = []
    for which in ("first", "more"):
        get = {
            key.split(f"impacts.{which}.")[1]: x for key, x in metrics.items() if key.startswith(f"impacts.{which}.")
        }
        if get:
            shares = (f"{100 * get['solved']:.2f} %", f"{100 * get['solved_at_all']:.2f} %")
            counts = [tables.whole(get[f"iterations.{key}"]) for key in ("median", "90", "99", "most")]
            rows.append((tables.whole(get["impacts"]), *shares, *counts, _small(get["residual.worst"])))
    titles = ("impacts", "solved in 60", "in 100", "median", "90 %", "99 %", "most", "worst residual, m/s")
    return (
        ""
        if not rows
        else "## Violent impacts\n\nFree bodies with masses over three decades that meet at up to 38 points in random "
        f"directions at 1 m/s; Newton steps from zero forces to 1e-8 m/s.\n\n{tables.table(titles, rows)}"
    )


def _random(metrics: Metrics) -> str:
    name = "robustness.random scenes"
    if f"{name}.scenes" not in metrics:
        return ""
    keys = ("scenes", "steps", "errors", "missed.free", "missed.arms", "silent", "speed.99")
    get = {key: metrics[f"{name}.{key}"] for key in keys}
    return (
        "## Random scenes\n\nAll shapes, masses over six decades, friction 0 to 10, deep in each other and in the "
        "ground; half of them with an arm whose limits hold it in the ground: no configuration satisfies all.\n\n"
        f"- {tables.whole(get['scenes'])} scenes, {tables.whole(get['steps'])} steps: {tables.whole(get['errors'])} "
        f"ended in an error or in numbers that are not finite.\n"
        f"- Steps that were not solved and said so: {100 * get['missed.free']:.1f} % without arms, "
        f"{100 * get['missed.arms']:.1f} % with arms; {tables.whole(get['silent'])} did not say so.\n"
        f"- The fastest body, as a part of the velocity that it may fall and be pushed with: median "
        f"{metrics[f'{name}.speed.median']:.2g}, {get['speed.99']:.3g} in 99 of 100 scenes, "
        f"{metrics[f'{name}.speed.most']:.3g} at most.\n"
        f"- Penetration after 0.1 s, as a part of that at the beginning: median {metrics[f'{name}.depth.median']:.2g}."
    )


def _mujoco(metrics: Metrics) -> str:
    steps, rows = ("0.001", "0.00025", "6.25e-05"), []
    for name in COMPARED:
        found = [metrics.get(f"mujoco.{name}.{dt}.difference") for dt in steps]
        if any(value is not None for value in found):
            moved = metrics.get(f"mujoco.{name}.0.001.moved")
            rows.append((name, *map(_small, found), _small(moved), DIFFERENCES[name]))
    titles = ("scene", "1 ms", "0.25 ms", "0.0625 ms", "bodies move by", "why they differ")
    return (
        ""
        if not rows
        else "## Beside MuJoCo\n\nThe largest difference of any coordinate (m, rad, quaternions). MuJoCo: elliptic "
        "cones, Newton's method to the end, time constants of two steps and impedance 0.9999, or the same springs; "
        f"friction with a time constant of its own where bodies slide.\n\n{tables.table(titles, rows)}"
    )


def motion_bars(metrics: Metrics) -> list[Bar]:
    """What is asked of motions."""

    def at_most(asked: str, key: str, most: float) -> Bar:
        found = metrics.get(key)
        return Bar(asked, _small(found), None if found is None else found <= most)

    found = [
        at_most("a box on a slope slips at tan α = μ to 1e-9", "physics.slope.most", 1e-9),
        at_most("a stack of 20 boxes moves less than 1 µm in 10 s", "physics.stack.moved", 1e-6),
        at_most("a capsule pinched by two pads creeps less than 1e-9 m/s", "physics.pinching.creep", 1e-9),
        at_most("random scenes: no NaN, no crash", "robustness.random scenes.errors", 0.0),
    ]
    shares = [metrics.get(f"impacts.{which}.solved") for which in ("first", "more")]
    counts = [metrics.get(f"impacts.{which}.impacts") for which in ("first", "more")]
    medians = [metrics.get(f"impacts.{which}.iterations.median") for which in ("first", "more")]
    asked = "random impacts: 99.5 % to 1e-8 within 60 Newton steps, median at most 15"
    if any(value is None for value in (*shares, *counts, *medians)):
        return [*found, Bar(asked, "not measured", None)]
    solved = sum(s * c for s, c in zip(shares, counts, strict=True) if s is not None and c is not None)
    share = solved / sum(c for c in counts if c is not None)
    median = max(m for m in medians if m is not None)
    return [*found, Bar(asked, f"{100 * share:.2f} %, median {median:.0f}", share >= 0.995 and median <= 15)]

# SPDX-License-Identifier: BSD-3-Clause
"""Draw pictures of tutorials from their own code: ``python scripts/tutorial_pictures.py`` writes docs/pictures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.drawing.pictures import COUPLING, FAINT, INK, LOOP, blank, write_picture
from linkwork.drawing.skeleton import LIMBS

DOCS = Path(__file__).parents[1] / "docs"


def variables(page: str) -> dict[str, Any]:
    """Names of a tutorial after its code has run."""
    names: dict[str, Any] = {}
    text = (DOCS / "tutorials" / f"{page}.md").read_text(encoding="utf-8")
    for block in re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        exec(block, names)
    return names


def machine() -> Any:
    """Forces of the pins over the crank angle, with and without gas, and the power of the drive."""
    names = variables("machine")
    figure = blank(8.4, 2.6)
    axes = figure.subplots(1, 3)
    quiet, fired, turn = names["run"], names["run_fired"], names["turn"]
    angle = np.degrees(names["SPEED"] * fired.times[-turn:]) % 360
    order = np.argsort(angle)
    for axis, run, title in ((axes[0], quiet, "forces in pins, no gas [kN]"), (axes[1], fired, "with gas [kN]")):
        for k, pin in enumerate(("main bearing", "crank pin", "wrist pin")):
            size = np.linalg.norm(run.reactions[pin][-turn:, 3:], axis=1)
            axis.plot(angle[order], 1e-3 * size[order], color=LIMBS[1 + k], label=pin)
        axis.set(title=title, ylim=(0, None))
    axes[0].legend(frameon=False, fontsize=8)
    axes[2].plot(angle[order], 1e-3 * names["power"][-turn:][order], color=LOOP)
    axes[2].axhline(0.0, color=FAINT, lw=0.8)
    axes[2].set(title="power of the drive, with gas [kW]")
    for axis in axes:
        axis.set(xlabel="crank angle [°]", xticks=[0, 90, 180, 270, 360])
    return finished(figure)


def legged_robot() -> Any:
    """The trot: which feet carry the robot, and how far it is."""
    names = variables("legged-robot")
    run, legs = names["run"], names["LEGS"]
    figure = blank(7.2, 2.6)
    left, right = figure.subplots(1, 2)
    for k, leg in enumerate(legs):
        contact = run.contacts[f"ground:{leg}"]
        left.fill_between(run.times, k, k + 0.8 * contact.touching.any(axis=1), step="post", color=LIMBS[1 + k], lw=0)
    left.set(
        title="feet on the ground",
        yticks=np.arange(4) + 0.4,
        yticklabels=[leg.replace("_", " ") for leg in legs],
        xlim=(1.4, 3.0),
        xlabel="time [s]",
    )
    right.plot(run.times, run.q[:, 0], color=COUPLING, label="forward")
    right.plot(run.times, run.q[:, 2], color=INK, label="height")
    right.set(title="position of the trunk [m]", xlabel="time [s]")
    right.legend(frameon=False, fontsize=8)
    return finished(figure)


def learning() -> Any:
    """Returns of the policies of each generation, and their mean."""
    history = variables("learning")["history"]
    figure = blank(5.4, 2.6)
    axes = figure.add_subplot(xlabel="generation", ylabel="return of 64 policies")
    generations = np.repeat(np.arange(len(history)), history.shape[1])
    axes.plot(generations, history.ravel(), ".", color=FAINT, ms=3)
    axes.plot(history.mean(axis=1), "o-", color=COUPLING, label="mean")
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    return finished(figure)


def finished(figure: Any) -> Any:
    """The figure with small labels and without frames."""
    for axis in figure.axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=8)
        for label in (axis.title, axis.xaxis.label, axis.yaxis.label):
            label.set_size(9)
    figure.tight_layout()
    return figure


PICTURES = {"tutorial-machine": machine, "tutorial-legged-robot": legged_robot, "tutorial-learning": learning}


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        write_picture(draw(), DOCS / "pictures" / f"{name}.svg")

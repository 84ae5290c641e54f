# SPDX-License-Identifier: BSD-3-Clause
"""Draw the pictures of pages on uses: ``python scripts/use_pictures.py [name ...]`` writes docs/pictures/<name>.svg.

Each is drawn by an example, which leaves its figure in a global ``figure``. Those of Cassie need ``LINKWORK_MODELS``.
"""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

from linkwork.drawing.pictures import write_picture

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
PICTURES = {
    "inverse-kinematics": "23_inverse_kinematics",
    "identification": "24_identification",
    "swing-up": "25_swing_up",
    "cassie-lqr": "26_cassie_lqr",
    "learning-through-steps": "30_learning_through_steps",
    "operational-space": "32_operational_space",
    "whole-body-control": "33_whole_body_control",
}
"""Which example draws which picture."""

ARGUMENTS = {"cassie-lqr": ["12"]}
"""Of examples: pushes of the regulator, finer than in the example."""


def main(names: list[str]) -> None:
    """Draw these pictures, or all."""
    mpl.use("svg")
    mpl.rcParams["savefig.bbox"] = "tight"
    for name in names or PICTURES:
        if name not in PICTURES:
            sys.exit(f"no picture '{name}'; there are {', '.join(PICTURES)}")
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            sys.argv = [sys.argv[0], *ARGUMENTS.get(name, [])]
            figure = runpy.run_path(str(ROOT / "examples" / f"{PICTURES[name]}.py"))["figure"]
            os.chdir(ROOT)
        write_picture(figure, FOLDER / f"{name}.svg")
        print(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    main(sys.argv[1:])

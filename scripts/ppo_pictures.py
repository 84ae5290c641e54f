# SPDX-License-Identifier: BSD-3-Clause
"""Draw the learning curves of the guide: ``python scripts/ppo_pictures.py out1 out2 ...`` writes docs/pictures.

Each folder is that of a run, ``python examples/29_ppo_hopper.py --seed 1 --out out1``. The film is that of the first.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

from linkwork.drawing.pictures import FAINT, blank, write_picture
from linkwork.drawing.skeleton import LIMBS

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
SMOOTH = 5
"""Updates whose mean is drawn."""
STATED = 700
"""The return that the guide says is reached without noise."""


def main(folders: list[Path]) -> None:
    """Draw one curve a run."""
    if not folders:
        sys.exit(str(__doc__))
    figure = blank(6.4, 3.2)
    axes = figure.add_subplot(xlabel="steps of the environment, in millions", ylabel="return of episodes, with noise")
    axes.spines[["top", "right"]].set_visible(False)
    for k, folder in enumerate(folders):
        steps, returns = np.load(folder / "ppo_hopper.npy").T
        mean = np.convolve(returns, np.ones(SMOOTH) / SMOOTH, mode="valid")
        axes.plot(1e-6 * steps[SMOOTH - 1 :], mean, color=LIMBS[1 + k % 7], lw=1.2, label=f"seed {k + 1}")
    axes.axhline(STATED, color=FAINT, lw=1, ls=":")
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    figure.subplots_adjust(left=0.1, right=0.98, top=0.97, bottom=0.16)
    write_picture(figure, PICTURES / "ppo-hopper.svg")
    shutil.copy(folders[0] / "ppo_hopper.gif", PICTURES / "ppo-hopper.gif")
    print(PICTURES / "ppo-hopper.svg", PICTURES / "ppo-hopper.gif")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])

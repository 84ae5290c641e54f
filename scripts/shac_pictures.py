# SPDX-License-Identifier: BSD-3-Clause
"""Draw the hopper's learning curve by gradients: ``python scripts/shac_pictures.py SHAC [PPO]`` writes docs/pictures.

Folders of ``python examples/36_shac_hopper.py --out SHAC``, and of ``python examples/29_ppo_hopper.py --out PPO``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from linkwork.drawing.pictures import blank, write_picture
from linkwork.drawing.skeleton import LIMBS

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "shac-hopper.svg"
EACH = 16_384
"""Steps of the environment whose episodes are averaged."""


def curve(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Steps of the environment, and mean returns of the episodes that ended in so many."""
    steps, returns, *_ = np.load(path).T
    part = (steps // EACH).astype(int)
    parts = np.unique(part)
    return EACH * (parts + 1.0), np.array([returns[part == k].mean() for k in parts])


def main(folders: list[Path]) -> None:
    """Draw one curve each."""
    figure = blank(6.4, 3.2)
    axes = figure.add_subplot(xlabel="steps of the environment, in millions", ylabel="return of episodes, with noise")
    axes.spines[["top", "right"]].set_visible(False)
    for k, (name, folder) in enumerate(zip(("shac", "ppo"), folders, strict=False)):
        steps, returns = curve(folder / f"{name}_hopper.npy")
        axes.plot(1e-6 * steps, returns, color=LIMBS[1 + k], lw=1.2, label=name.upper())
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    figure.subplots_adjust(left=0.1, right=0.98, top=0.97, bottom=0.16)
    write_picture(figure, PICTURE)
    print(PICTURE)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(str(__doc__))
    main([Path(name) for name in sys.argv[1:]])

# SPDX-License-Identifier: BSD-3-Clause
"""Robots and trajectories in the browser, by viser: ``pip install 'linkwork[view]'``. See docs/how-to/seeing.md.

| file      | contents                                                          |
|-----------|-------------------------------------------------------------------|
| solids    | shapes as nodes of a scene, mesh files, bones                     |
| framing   | how large a robot is, where its floor is, where to look from      |
| ground    | the ground and the lights, with shadows and without              |
| between   | lines between bodies: slides, open loops, forces, contacts        |
| stage     | a robot in a scene: what is drawn, and how it moves               |
| playing   | the panel of a trajectory: time, play, step                       |
| posing    | the panel of a robot: its joints, moved with loops closed         |
| window    | `Viewer`: a server with a stage and a panel                       |
"""

from __future__ import annotations

from linkwork.viewer.window import Viewer

__all__ = ["Viewer"]

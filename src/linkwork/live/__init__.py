# SPDX-License-Identifier: BSD-3-Clause
"""Robots that run on this machine while a browser shows them: ``robot.view(live=True)``. See docs/how-to/seeing.md.

| file     | contents                                                                |
|----------|-------------------------------------------------------------------------|
| run      | `LiveRun`: a state that steps move on, with commands and a hand that pulls |
| contacts | contact points of the last step, with where they are                     |
| pace     | the thread that makes as many steps as time has passed                   |
| panel    | controls in the page: play, step, speed, poses, commands                 |
| window   | `LiveViewer`: a `Viewer` in which the robot runs                         |
| rerun_log | `log_rerun`: trajectories and live runs as recordings of Rerun           |
"""

from __future__ import annotations

from linkwork.live.rerun_log import log_rerun
from linkwork.live.run import LiveRun
from linkwork.live.window import LiveViewer

__all__ = ["LiveRun", "LiveViewer", "log_rerun"]

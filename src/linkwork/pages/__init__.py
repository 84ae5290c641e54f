# SPDX-License-Identifier: BSD-3-Clause
"""Live pages: a mechanism that runs in the browser, as one HTML file without a server or a network.

| file     | contents                                                                     |
|----------|------------------------------------------------------------------------------|
| program  | what the page computes: steps, placements, velocities, energy, as WebAssembly |
| scene    | what it draws: shapes, bones, pins, forces of loops                          |
| controls | what it lets one change and plot: motors, gravity, masses, lengths            |
| page     | `save_live_page`: all of it as one file                                      |
| web      | the page's own text: HTML, style sheet, scripts                              |
"""

from __future__ import annotations

from linkwork.pages.page import LivePage, save_live_page

__all__ = ["LivePage", "save_live_page"]

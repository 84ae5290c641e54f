# SPDX-License-Identifier: BSD-3-Clause
"""Models to files: URDF, MJCF, SDF and JSON that `load` reads back as the same mechanism, loops included.

Properties that a format lacks are refused by name if they change the dynamics (`errors.CannotSave`), and nothing is
written; what does not is left out with a warning. Users call `Mechanism.save` and `Mechanism.to_text`.

| file            | contents                                                                   |
|-----------------|----------------------------------------------------------------------------|
| report          | what a format cannot say: refused, or left out                             |
| layout          | frames of bodies in the file, and all else in them                         |
| joint_numbers   | numbers that formats say once for a joint, or not at all                   |
| equations       | constraints on joint coordinates as linear equations and polynomials       |
| meshes, xml     | paths of meshes; elements, numbers, rotations                              |
| dialects        | dialects of URDF                                                           |
| urdf, ...       | URDF: links and joints, loops, shapes; standard_joints: chains for joints  |
|                 | that it has not; loop_file: loops in a file beside it                      |
| mjcf, ...       | MJCF: bodies and joints, equalities, actuators, shapes, contacts           |
| sdf, ...        | SDF: links and joints, loops as joints, shapes                             |
| plain_text      | JSON that says all of a model                                              |
"""

from __future__ import annotations

from linkwork.saving.dialects import DIALECTS, DialectName
from linkwork.saving.files import format_of, model_text, save_model
from linkwork.saving.report import DROPPABLE, FORMATS, Droppable, Format

__all__ = [
    "DIALECTS",
    "DROPPABLE",
    "FORMATS",
    "DialectName",
    "Droppable",
    "Format",
    "format_of",
    "model_text",
    "save_model",
]

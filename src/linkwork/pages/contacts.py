# SPDX-License-Identifier: BSD-3-Clause
"""Contacts of a page: the layout of contact states, and the arrays that are drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.kernels.contact.reduced.step import JAMS, MISSED, OVERFLOWED
from linkwork.plans.contact_reduced import LISTED
from linkwork.plans.contacts import planned_pairs
from linkwork.simulation import Stepper
from linkwork.simulation.contacts import SOLVER

UNSOLVED = {"missed": MISSED, "jammed": JAMS, "overflowed": OVERFLOWED}
"""Kinds of steps that pages count, by their places in the totals."""


def contact_description(stepper: Stepper) -> dict[str, Any] | None:
    """Places in the result of steps with contacts, for the page's worker; None where there are none.

    Args:
        stepper: The steps of a page.
    """
    planned = stepper.planned
    if planned.contact is None:
        return None
    row, tree = planned.contact.row, planned.contact.tree
    nresult, first = int(tree.nresult), int(tree.nsettings)
    places = row.in_result(nresult, stepper.source.nv)
    # forces that the next step starts from are in this order (`simulation.contact_inputs.write_start`)
    parts = [places[name] for name in ("points", "boxes", "multipliers")]
    starts = np.cumsum([first, *(part.stop - part.start for part in parts)]).tolist()
    copies = [
        [part.start, start, part.stop - part.start]
        for part, start in zip(parts, starts, strict=False)
        if part.stop > part.start
    ]
    kind = [[SOLVER - 1, first + int(tree.nstart) - 1, 1]] if row.reduced else []
    totals, pairs = places["totals"], planned_pairs(stepper.source.contacts).slots
    counted = {words: totals.start + k for words, k in UNSOLVED.items() if totals.start + k < totals.stop}
    return {
        "copies": copies,
        "kind": kind,
        "multipliers": places["multipliers"].start,
        "points": places["points"].start,
        "listed": LISTED if row.reduced else 0,
        "room": row.points.nlisted if row.reduced else row.points.nslots,
        "count": len(pairs),
        "slots": row.points.slots.tolist(),
        "pairs": np.repeat(np.arange(len(pairs)), pairs).tolist(),
        "unsolved": counted,
    }

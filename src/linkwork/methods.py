# SPDX-License-Identifier: BSD-3-Clause
"""Methods of forward dynamics: which a robot can take, and what each costs."""

from linkwork.dynamics.methods import best_method, method_costs, methods_for

__all__ = [
    "best_method",
    "method_costs",
    "methods_for",
]

# SPDX-License-Identifier: BSD-3-Clause
"""Contact with friction: the problem of a step and its solvers; `contact.shapes` has the geometry."""

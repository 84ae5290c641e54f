# SPDX-License-Identifier: BSD-3-Clause
"""Evaluators whose results are records of arrays."""

from __future__ import annotations

from typing import Any, ClassVar

from linkwork.quantities.base import ArrayEvaluator


class RecordEvaluator(ArrayEvaluator):
    """An evaluator that returns all its outputs as a named tuple."""

    record: ClassVar[type[Any]]
    """Class of the result."""

# SPDX-License-Identifier: BSD-3-Clause
"""What tests of several packages share."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

# SPDX-License-Identifier: BSD-3-Clause
"""Contact with friction, measured."""

# SPDX-License-Identifier: BSD-3-Clause
"""Contacts of a robot: where shapes touch, and steps in time with friction."""

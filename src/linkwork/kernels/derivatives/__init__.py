# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of dynamics, of constraints and of steps with contacts."""

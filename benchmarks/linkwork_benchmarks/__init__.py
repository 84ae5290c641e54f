# SPDX-License-Identifier: BSD-3-Clause
"""Benchmarks: scenarios as data, peers behind one interface, one runner. ``python -m linkwork_benchmarks --help``."""

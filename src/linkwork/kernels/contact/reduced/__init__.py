# SPDX-License-Identifier: BSD-3-Clause
"""Steps with contacts by the reduced matrix ``M + A' G A``: what touches is a list, and costs what the list is long."""

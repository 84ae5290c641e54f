"""Kernel text, one family a file: numeric phase only, reads plans, allocates nothing."""

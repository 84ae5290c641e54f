"""Loops: closing them, what they leave free, minimal coordinates, actuation through linkages."""

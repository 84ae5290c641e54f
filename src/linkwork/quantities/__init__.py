"""Functions of a robot's state, and what all evaluators share."""

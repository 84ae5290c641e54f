"""Forward and inverse dynamics, impacts, operational space, the Delassus operator, equilibria."""

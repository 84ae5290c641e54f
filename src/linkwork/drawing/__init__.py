"""Pictures of mechanisms and of motion, by matplotlib."""

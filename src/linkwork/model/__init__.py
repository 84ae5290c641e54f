"""What a robot is: bodies, joints, frames and constraints, immutable."""

"""The symbolic phase: topology looked at once, frozen into integer arrays for kernels."""

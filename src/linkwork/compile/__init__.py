"""Three ways to run kernel text: plain Python, native through Numba, straight-line programs through LLVM."""

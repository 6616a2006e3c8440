"""A stand-in for CuPy: arrays on a simulated device."""

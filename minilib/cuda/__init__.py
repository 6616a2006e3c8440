"""CUDA C on any machine: through CuPy where there is a GPU, and otherwise on a simulator that explains it."""

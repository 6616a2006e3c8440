"""Kernels on the CPU: the tree as Python over NumPy arrays, and the threads and memory that it works on."""

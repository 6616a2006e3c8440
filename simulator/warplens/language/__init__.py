"""CUDA C: from source to a tree in which every name and every conversion is explicit."""

"""The race detector: all accesses of a launch, held against memory, order and each other, and counted."""

"""Comparisons with PyTorch. A package, so that files here may be named like those in tests/."""

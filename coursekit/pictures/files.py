"""Chapter 10's model file, its bytes and its graph with sizes, drawn."""

from __future__ import annotations

from pathlib import Path


def digits_onnx() -> Path:
    """A convolutional network that reads digits, as ONNX: `make bench ARGS=digits_onnx` makes it again."""
    return Path(__file__).with_name("digits.onnx")

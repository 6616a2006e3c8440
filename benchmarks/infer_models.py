"""The models of benchmarks/infer.py by `torch.onnx`: MLP and CNN of digits, gpt-micro, a Mamba block.

    python -m benchmarks.infer_models FOLDER

Their weights are drawn, since a time does not depend on them. Batch and tokens are symbols, but for Mamba's
8 steps, which the exporter writes out one by one.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

__all__ = ["export"]

VOCABULARY, BLOCK = 128, 128


def export(folder: Path) -> None:
    """Writes MODEL.onnx for each model into the folder."""
    try:
        import torch
        from torch import nn
    except ImportError:
        sys.exit("error: PyTorch is missing: `pip install -e '.[torch]'`")
    from benchmarks.gpt_in_torch import GPT
    from benchmarks.mamba_in_torch import ResidualBlock

    class Logits(nn.Module):
        """A GPT without its loss, which is None here."""

        def __init__(self) -> None:
            super().__init__()
            self.gpt = GPT(VOCABULARY, BLOCK, layers=4, heads=4, width=128, dropout=0.0, tuned=False)

        def forward(self, idx: Any) -> Any:
            return self.gpt(idx)[0]

    torch.manual_seed(0)
    mlp = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    first = [nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)]
    cnn = nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(128, 10))
    idx = torch.zeros(2, 5, dtype=torch.long)
    models: dict[str, tuple[Any, Any, dict[int, str]]] = {
        "mlp": (mlp, torch.randn(3, 64), {0: "B"}),
        "cnn": (cnn, torch.randn(3, 1, 8, 8), {0: "B"}),
        "gpt": (Logits(), idx, {0: "B", 1: "T"}),
        "mamba": (ResidualBlock(64, 16), torch.randn(2, 8, 64), {0: "B"}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (model, x, dynamic) in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it says that another exporter is the newer one
            torch.onnx.export(
                model.eval(), (x,), str(folder / f"{name}.onnx"), dynamo=False, input_names=["x"],
                output_names=["y"], dynamic_axes={"x": dynamic}, opset_version=17,
                training=torch.onnx.TrainingMode.PRESERVE,
            )  # fmt: skip


if __name__ == "__main__":
    export(Path(sys.argv[1]))

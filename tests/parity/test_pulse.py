"""What torch.onnx exports, cut into pulses, says what PyTorch says of the whole stream."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minilib.infer as tract

torch = pytest.importorskip("torch", reason="PyTorch is missing: `make test-all` installs it")
pytest.importorskip("onnx", reason="onnx is missing: `make test-all` installs it")


def causal_network() -> Any:
    """Gated causal convolutions with skips, another kind of padding, norms over channels, a pool."""
    from torch import nn
    from torch.nn import functional as F

    class Gated(nn.Module):
        def __init__(self, dilation: int) -> None:
            super().__init__()
            self.cut = 2 * dilation
            self.conv = nn.Conv1d(4, 8, 3, dilation=dilation, padding=self.cut)
            self.out = nn.Conv1d(4, 4, 1)

        def forward(self, x: Any) -> Any:
            a, b = self.conv(x)[:, :, : -self.cut].chunk(2, 1)
            return x + self.out(torch.tanh(a) * torch.sigmoid(b))

    class Padded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.deep, self.norm, self.batch = (
                nn.Conv1d(4, 4, 5, groups=4),
                nn.LayerNorm(4),
                nn.BatchNorm1d(4),
            )
            self.linear, self.pool = nn.Linear(4, 4), nn.AvgPool1d(2)

        def forward(self, x: Any) -> Any:
            y = self.norm(self.deep(F.pad(x, (4, 0))).transpose(1, 2))
            return self.pool(self.batch(x + F.gelu(self.linear(y)).transpose(1, 2)))

    last = nn.Conv1d(4, 2, 3, padding=1)
    return nn.Sequential(nn.Conv1d(1, 4, 1), Gated(1), Gated(2), Gated(4), Padded(), last).eval()


@pytest.mark.parametrize("pulse", [2, 8])
def test_a_gated_causal_network_of_torch_in_pulses(pulse: int, tmp_path: Path) -> None:
    torch.manual_seed(0)
    network, x, path = causal_network(), torch.randn(1, 1, 51), tmp_path / "model.onnx"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that another exporter is the newer one
        torch.onnx.export(
            network, (x,), str(path), dynamo=False, input_names=["x"], dynamic_axes={"x": {2: "S"}}
        )
    model = tract.onnx().load(path).into_model()
    model.transform(tract.Pulse(pulse))
    (delay,) = model.property("pulse.delay").to_numpy().tolist()
    state, stream = model.into_runnable().spawn_state(), x.numpy()
    whole = 51 // pulse * pulse
    made = [state.run([stream[:, :, i : i + pulse]])[0].to_numpy() for i in range(0, whole, pulse)]
    early = np.concatenate(made, 2)[:, :, delay:]
    found = np.concatenate([early, state.finish([stream[:, :, whole:]])[0].to_numpy()], 2)
    with torch.no_grad():
        assert np.allclose(found, network(x).numpy(), atol=1e-5)

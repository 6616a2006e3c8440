"""Makes race.png of the README again: a report, as a browser shows it (needs Chromium).

.venv/bin/python .github/images/race.py
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

from warplens import RawKernel, cp, profile

SOURCE = r"""
extern "C" __global__ void reverse(const float* x, float* y) {
    __shared__ float tile[64];
    int i = threadIdx.x;
    tile[i] = x[i];
    y[i] = tile[63 - i];
}
"""
SIZE = "1000,475"


def main() -> None:
    x, y = cp.arange(64, dtype=cp.float32), cp.zeros(64, dtype=cp.float32)
    report = profile(RawKernel(SOURCE, "reverse"), (1,), (64,), (x, y))
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert chromium, "Chromium is not installed (Debian: chromium)"
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "race.html")
        report.save(page)
        picture = Path(__file__).with_name("race.png")
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1.5"]
        subprocess.run(
            [chromium, *options, f"--window-size={SIZE}", f"--screenshot={picture}", page.as_uri()],
            check=True,
        )
    with Image.open(picture) as drawn:  # a palette takes a fifth of the bytes
        drawn.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(picture, optimize=True)


if __name__ == "__main__":
    main()

"""Write down what the CuPy has that is installed here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import cupy

sys.path.insert(0, str(Path(__file__).parents[1]))
from cupy_names import FOLDER, record

data = record(cupy)
path = FOLDER / f"{data['version'].partition('.')[0]}.json"
text = json.dumps(data, separators=(",", ":"), sort_keys=True).replace("],", "],\n")
path.write_text(text + "\n", encoding="utf-8")
print(path)

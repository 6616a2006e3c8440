"""The course's measurements. What they share with the simulator's: simulator/benchmarks/timing.py."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "simulator" / "benchmarks"))

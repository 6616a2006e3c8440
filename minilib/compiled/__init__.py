"""Operations as loops that numba compiles: `import minilib.compiled` turns them on, for NumPy's arrays.

Each is written as one would write it on a blackboard, one row or number after the other, and reads memory
once where NumPy's expressions read it several times. An operation runs its loops where they fit its inputs:
float32, contiguous, at least one number; otherwise NumPy's code runs. `coverage()` says which have loops,
`with off():` compares. Memory that is freed stays for the next array: `parallel.keep_memory`.
Needs the extra `fast`: `pip install "minilib-course[fast]"`.
"""

from importlib.util import find_spec

if find_spec("numba") is None:
    need = 'minilib.compiled needs numba: pip install "minilib-course[fast]"'
    raise ModuleNotFoundError(need, name="numba")

from minilib.compiled import curves as curves
from minilib.compiled import lookups as lookups
from minilib.compiled import rows as rows
from minilib.compiled import scan as scan
from minilib.compiled import steps as steps
from minilib.compiled import windows as windows
from minilib.compiled.pairs import coverage as coverage
from minilib.compiled.pairs import off as off
from minilib.parallel import keep_memory

keep_memory()

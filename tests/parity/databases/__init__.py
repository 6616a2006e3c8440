"""PyTorch's own databases of operations, layers and optimisers, run over minilib.

`python -m tests.parity.databases` lists what differs; `test_databases.py` holds it to `expected.toml`.
"""

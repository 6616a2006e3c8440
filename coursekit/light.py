"""Imported before nbformat, it makes that start in a tenth of the time. Also a plugin of pytest (`-p`).

nbformat imports jsonschema, which makes a parser for each form of international addresses where their grammar
is installed (JupyterLab brings it). No notebook has such an address, and it takes a second in each process.
"""

import sys

sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

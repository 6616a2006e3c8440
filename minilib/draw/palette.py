"""Colours, letters and sizes that all pictures share.

The colours stay apart for colour-blind readers: sand for leaves, grey for those that want no gradient, blue
for results, and one warm red that means "gradient" wherever it stands. Text has a contrast of at least 4.5 on
each ground it is written on.
"""

from __future__ import annotations

PAGE = "#ffffff"
INK, MUTED, EDGE = "#1f2933", "#56616c", "#7b8794"
GRADIENT = "#b03a06"

# What nodes are filled with, and the line around them.
SAND, BLUE, GLOW = ("#fff6e0", "#b07d10"), ("#e9f2fb", "#2b6ca3"), ("#ffe6d8", "#c2480c")
GREY = ("#f1f3f5", EDGE)

TIMES, MINUS, NOTHING = "\N{MULTIPLICATION SIGN}", "\N{MINUS SIGN}", "\N{EN DASH}"

FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
TEXT, ROW, BADGE, PADDING, MARGIN = 13.0, 19.0, 26.0, 9.0, 12.0
WIDE = 1100  # wider pictures keep their size and get a scroll bar, instead of shrinking to the notebook

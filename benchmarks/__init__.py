"""Side-by-side measurements against peers: one process each, in turn, medians and ratios."""

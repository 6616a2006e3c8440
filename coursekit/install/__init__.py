"""From a fresh clone to an open notebook."""

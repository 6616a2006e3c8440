"""All that can fail, and all that is timed."""

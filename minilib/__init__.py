"""The library that the course builds, chapter by chapter."""

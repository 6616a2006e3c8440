"""Asserts of shared tests say as much as those of test files."""

import pytest

pytest.register_assert_rewrite("graded")

"""The one exception that a user of the course sees as a single line."""


class CourseError(Exception):
    """Something the user can mend: what was wrong, what was expected, what to do, in one line."""

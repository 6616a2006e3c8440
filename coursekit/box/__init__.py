"""What stands in the grader's box beside the student's code, and nothing else of the course."""

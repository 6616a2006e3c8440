"""The grader: run answers in a box, compare what they show with the reference, outside the box."""

"""The learner's own library, made of their answers."""

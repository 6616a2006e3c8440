"""What is made from chapters and solutions: the library, the exercises, the bundle for students."""

"""Our operators inside other frameworks. Nothing else in the library imports this room."""

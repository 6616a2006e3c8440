"""What a launch did, as plain data (`data`), and as text, tables, pictures and advice (`report`)."""

"""What a kernel did: accesses counted, findings explained, pictures."""

"""What the source of a kernel tells before it runs: `facts` has it all."""

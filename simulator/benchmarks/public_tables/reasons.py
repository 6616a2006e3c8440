"""What is wrong in more than one public kernel."""

OLD_WARP = "its last warp goes on without __syncwarp, as was allowed before Volta"
LOADS_FIRST = "it loads before it looks whether there is anything to load"
NO_GUARD = "it does not look whether its threads are inside"
NO_ATOMIC = "several threads add to one place without an atomic, which is what it is there to show"
READS_OUTPUT = "it reads what it is to write, before anything was written there"
UNEVEN_BARRIER = "its barrier stands in a branch that not all threads of a block take"
REUSED = "it writes to shared memory that others may still be reading: a barrier is missing"

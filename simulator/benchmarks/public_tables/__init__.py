"""The kernels that `public_runs` runs: by repository and file, each with its name, the digest of its text,
its arguments, what must come out, grid and block; `Run` says how they are written. Sizes are small, and
mostly no multiples of the block."""

from public_runs import Table

from public_tables import courses, leetcuda, leetgpu, models, pmpp, samples, tutorials

TABLE: Table = {
    **courses.TABLE,
    **leetcuda.TABLE,
    **leetgpu.TABLE,
    **models.TABLE,
    **pmpp.TABLE,
    **samples.TABLE,
    **tutorials.TABLE,
}

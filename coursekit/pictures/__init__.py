"""The lessons' stage: what draws, counts and measures in a notebook and answers none of its questions.

Nothing but notebooks imports it. It needs matplotlib, and takes what a lesson has built as arguments.
"""

# ruff: noqa: F401
# mypy: implicit-reexport

from coursekit.pictures.arrays import (
    draw_broadcast,
    draw_heap,
    draw_products,
    draw_scattered,
    draw_sums,
)
from coursekit.pictures.attention import draw_look, draw_losses, draw_maps, draw_masks, draw_scales
from coursekit.pictures.caches import draw_ceiling, draw_speeds, loads, step_cache
from coursekit.pictures.compiled import compiled
from coursekit.pictures.contracts import draw_strides, draw_told, draw_verdicts
from coursekit.pictures.decluttering import draw_chains, draw_flame, draw_laid_out, draw_sweeps
from coursekit.pictures.devices import draw_moved, draw_places, draw_who
from coursekit.pictures.files import (
    digits_onnx,
    draw_bytes,
    draw_network,
    draw_shares,
    draw_sizes,
    draw_windows,
)
from coursekit.pictures.generating import draw_cost, draw_dials, draw_lens, draw_memory, fastest, tell
from coursekit.pictures.graphs import (
    draw_answers_of,
    draw_derivatives,
    draw_program,
    draw_runs_of,
    draw_trainings,
    step_gradients,
    step_run,
)
from coursekit.pictures.kernels import (
    draw_banks,
    draw_halo,
    draw_memories,
    draw_orders,
    draw_owners,
    draw_probabilities,
    draw_roofline,
    draw_sectors,
    draw_shuffle,
    draw_steps,
    draw_tiles,
    draw_time,
    draw_warps,
    table_of,
)
from coursekit.pictures.layers import draw_layers
from coursekit.pictures.losses import draw_pulls
from coursekit.pictures.mamba import (
    draw_copied,
    draw_first_losses,
    draw_gate,
    draw_kept,
    draw_lengths,
    draw_lifetimes,
    draw_opening,
    draw_race,
    draw_standstill,
    letters_of,
    recorded_shares,
    steps_of,
)
from coursekit.pictures.measure import (
    apart,
    count_passes,
    operations,
    peak_bytes,
    saved_bytes,
    seconds,
)
from coursekit.pictures.memory import draw_echo, draw_price, draw_reach
from coursekit.pictures.modules import step_names
from coursekit.pictures.mountains import draw_mountains
from coursekit.pictures.networks import (
    draw_confusion,
    draw_digits,
    draw_errors,
    draw_fields,
    draw_modules,
    draw_reasons,
    draw_signals,
)
from coursekit.pictures.operators import draw_calls, draw_dispatch, draw_fits, time_calls
from coursekit.pictures.plans import (
    draw_addresses,
    draw_blocks,
    draw_file,
    draw_guard,
    draw_passes,
    draw_twice,
    step_trace,
)
from coursekit.pictures.plots import (
    BLUE,
    ORANGE,
    draw_border,
    draw_curves,
    draw_points,
    draw_walks,
    show_plot,
)
from coursekit.pictures.products import draw_columns, draw_limits, draw_registers
from coursekit.pictures.reading import draw_gaps, draw_reader, draw_resumed
from coursekit.pictures.rows import draw_block, draw_moves, draw_threads
from coursekit.pictures.scalars import Film, draw_film, draw_speakers
from coursekit.pictures.scans import (
    draw_carry,
    draw_overflow,
    draw_scan,
    draw_tree,
    draw_waits,
    draw_ways,
)
from coursekit.pictures.shapes import draw_ribbon, draw_round_trip, draw_tables, jacobian
from coursekit.pictures.shipping import draw_asked, draw_compiled, draw_streams, draw_tag
from coursekit.pictures.states import (
    draw_answers,
    draw_budget,
    draw_forgetting,
    draw_recalled,
    draw_responses,
    draw_selection,
    draw_spring,
    draw_unrolled,
)
from coursekit.pictures.steps import (
    draw_both,
    draw_clocks,
    draw_dropped,
    draw_gathered,
    draw_in_use,
    draw_launches,
    looks,
    step_clocks,
)
from coursekit.pictures.streams import draw_conveyor, draw_late, draw_remembered, draw_seams, draw_work
from coursekit.pictures.tokens import draw_lookup, draw_melting, draw_prices, draw_savings, draw_tokens
from coursekit.pictures.transformer import (
    draw_glances,
    draw_road,
    draw_runs,
    draw_sorted,
    draw_spread,
    draw_targets,
    draw_training,
    draw_traps,
    glances,
)
from coursekit.pictures.valleys import draw_rates
from coursekit.pictures.windows import draw_learned, draw_window

"""What the stand-in has of CuPy: names and parameters, as CuPy 13, CuPy 14 and NumPy all have them.

A function is listed with its parameters in CuPy's order, `*` before those that are given by name only, `/`
after those that are not. `a!` must be a device array, `x?` a device array or a number, `xs[]` a list or tuple
of device arrays, and the last one may be repeated (`*xs!`).
"""

from __future__ import annotations

UFUNCS = """
    absolute abs add arccos arccosh arcsin arcsinh arctan arctan2 arctanh bitwise_and bitwise_not bitwise_or
    bitwise_xor cbrt ceil copysign cos cosh deg2rad divide divmod equal exp exp2 expm1 fabs float_power
    floor floor_divide fmax fmin fmod frexp gcd greater greater_equal heaviside hypot invert isfinite isinf
    isnan lcm ldexp left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and
    logical_not logical_or logical_xor maximum minimum mod modf multiply negative nextafter not_equal
    positive power rad2deg reciprocal remainder right_shift rint sign signbit sin sinh sqrt square subtract
    tan tanh true_divide trunc
""".split()  # noqa: SIM905

_TABLE = """
    empty_like        prototype! dtype order subok shape
    zeros             shape dtype order
    zeros_like        a! dtype order subok shape
    ones              shape dtype order
    ones_like         a! dtype order subok shape
    full              shape fill_value? dtype order
    full_like         a! fill_value? dtype order subok shape
    arange            start stop step / dtype
    linspace          start? stop? num endpoint retstep dtype axis
    logspace          start? stop? num endpoint base dtype axis
    eye               N M k dtype order
    identity          n dtype
    indices           dimensions dtype
    tri               N M k dtype
    tril              m! k
    triu              m! k
    diag              v! k
    meshgrid          *xi! indexing sparse copy
    copy              a! order

    sum               a! axis dtype out keepdims
    prod              a! axis dtype out keepdims
    mean              a! axis dtype out keepdims
    var               a! axis dtype out ddof keepdims
    std               a! axis dtype out ddof keepdims
    max               a! axis out keepdims
    min               a! axis out keepdims
    amax              a! axis out keepdims
    amin              a! axis out keepdims
    ptp               a! axis out keepdims
    all               a! axis out keepdims
    any               a! axis out keepdims
    argmax            a! axis * out keepdims
    argmin            a! axis * out keepdims
    average           a! axis weights returned * keepdims
    median            a! axis out overwrite_input keepdims
    percentile        a! q? axis out overwrite_input method keepdims
    quantile          a! q? axis out overwrite_input method keepdims
    nanmax            a! axis out keepdims
    nanmin            a! axis out keepdims
    nansum            a! axis dtype out keepdims
    nanmean           a! axis dtype out keepdims
    cumsum            a! axis dtype out
    cumprod           a! axis dtype out
    count_nonzero     a! axis
    diff              a! n axis prepend append

    where             condition? x? y? /
    clip              a! a_min? a_max? out
    round             a! decimals out
    around            a! decimals out
    nan_to_num        x! copy nan posinf neginf
    isclose           a? b? rtol atol equal_nan
    allclose          a? b? rtol atol equal_nan
    array_equal       a1! a2! equal_nan

    take              a! indices axis out
    take_along_axis   a! / indices! axis
    copyto            dst! src? casting where
    nonzero           a!
    argwhere          a!
    flatnonzero       a!
    diagonal          a! offset axis1 axis2
    trace             a! offset axis1 axis2 dtype out
    fill_diagonal     a! val? wrap

    concatenate       tup[] / axis out * dtype casting
    stack             tup[] / axis out * dtype casting
    vstack            tup[] / * dtype casting
    hstack            tup[] / * dtype casting
    split             ary! indices_or_sections axis
    array_split       ary! indices_or_sections axis
    broadcast_to      array! shape
    broadcast_arrays  *args!
    reshape           a! newshape / order
    ravel             a! order
    transpose         a! axes
    swapaxes          a! axis1 axis2
    moveaxis          a! source destination
    expand_dims       a! axis
    squeeze           a! axis
    flip              m! / axis
    fliplr            m! /
    flipud            m! /
    rot90             m! / k axes
    roll              a! shift axis
    repeat            a! repeats axis
    tile              A! reps
    pad               array! pad_width mode * constant_values
    atleast_1d        *arys!
    atleast_2d        *arys!
    append            arr! values? axis

    dot               a? b? out
    vdot              a! b!
    inner             a! b!
    outer             a! b! out
    tensordot         a! b! axes
    kron              a! b!
    matmul            a! b! / * out dtype
    einsum            subscripts *operands! dtype order casting optimize

    sort              a! axis kind
    argsort           a! axis kind
    partition         a! kth axis
    argpartition      a! kth axis
    unique            ar! return_index return_inverse return_counts axis
    searchsorted      a! v! side sorter
    bincount          x! / weights minlength
    histogram         a! / bins range * density weights
    digitize          x! bins! right

    may_share_memory  a! b! /
    shares_memory     a! b! /
    result_type       *arrays_and_dtypes
    can_cast          from_ to casting
    promote_types     type1 type2 /
    broadcast_shapes  *args
    ndim              a
    shape             a
    size              a axis
    isscalar          element
"""

FUNCTIONS: dict[str, list[str]] = {
    words[0]: words[1:] for words in (line.split() for line in _TABLE.splitlines()) if words
}

# Their results are Python's: every other one is a device array, without axes where it is one number.
PLAIN = (
    "broadcast_shapes", "can_cast", "isscalar", "may_share_memory", "ndim", "promote_types", "result_type",
    "shape", "shares_memory", "size",
)  # fmt: skip

# They write into their first argument.
WRITERS = ("copyto", "fill_diagonal")

# Written out in `device`: data come from the host or go there, or memory stays unwritten.
OWN = (
    "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asnumpy", "empty",
    "get_array_module", "get_default_memory_pool", "ndarray",
)  # fmt: skip

# The same object as NumPy's.
SAME = (
    "bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64", "complex64", "complex128", "intp", "int_", "dtype", "finfo", "iinfo", "integer", "floating",
    "number", "generic", "signedinteger", "unsignedinteger", "pi", "e", "inf", "nan", "newaxis",
)  # fmt: skip

METHODS: dict[str, list[str]] = {
    words[0]: words[1:]
    for words in (
        line.split()
        for line in """
    all           axis out keepdims
    any           axis out keepdims
    argmax        axis out * keepdims
    argmin        axis out * keepdims
    argsort       axis
    astype        dtype order casting subok copy
    clip          min? max? out
    conj
    conjugate
    copy          order
    cumprod       axis dtype out
    cumsum        axis dtype out
    diagonal      offset axis1 axis2
    dot           b! out
    flatten       order
    max           axis out keepdims
    mean          axis dtype out keepdims
    min           axis out keepdims
    nonzero
    prod          axis dtype out keepdims
    ravel         order
    repeat        repeats axis
    reshape       *shape order
    round         decimals out
    searchsorted  v! side sorter
    squeeze       axis
    std           axis dtype out ddof keepdims
    sum           axis dtype out keepdims
    swapaxes      axis1 axis2
    take          indices axis out
    trace         offset axis1 axis2 dtype out
    transpose     *axes
    var           axis dtype out ddof keepdims
    """.splitlines()
    )
    if words
}

FFT = {"rfft": ("a", "n", "axis"), "irfft": ("a", "n", "axis")}  # of cp.fft

RANDOM = (
    "seed", "rand", "randn", "random", "random_sample", "standard_normal", "normal", "uniform", "randint",
    "permutation", "shuffle", "choice", "default_rng", "Generator",
)  # fmt: skip

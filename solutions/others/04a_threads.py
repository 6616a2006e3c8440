"""Second right answers to the exercises of chapter 04a, by another way than the reference's: each earns all points."""

# %% exercise=4.2
def sectors(start, stride, size=4, lanes=32):
    places = np.unique((start + stride * np.arange(lanes)) * size // 32)
    return int(len(places))

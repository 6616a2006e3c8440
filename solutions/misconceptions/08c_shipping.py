"""Plausible wrong answers to the exercises of chapter 08c, each with the hint that it earns."""

# %% exercise=8.15 hint="`in` finds parts of a text, and there is an \"any\" in \"manylinux\". Compare the whole part with ==."
-     if place not in ("any", platform):
+     if "any" not in place and place != platform:

# %% exercise=8.15 hint="You compare texts, and as a text 39 comes after 310. Make numbers of major and minor version."
-     return built[0] == python[0] and (built <= python if abi == "abi3" else built == python)
+     text = f"{python[0]}{python[1]}"
+     return tag[2:] <= text if abi == "abi3" else tag[2:] == text

# %% exercise=8.15 hint="Without abi3 a tag means that Python alone: a newer one has another ABI."
-     return built[0] == python[0] and (built <= python if abi == "abi3" else built == python)
+     return built[0] == python[0] and built <= python

# %% exercise=8.15 hint="With abi3 the tag is the lowest Python, not the only one."
-     return built[0] == python[0] and (built <= python if abi == "abi3" else built == python)
+     return built == python

# %% exercise=8.15 hint="The platform counts: a wheel with machine code for another system cannot be installed, unless it says any."
-     if place not in ("any", platform):
-         return False

# %% exercise=8.16 hint="The grid and the block are in each other's place still: the first tuple is the number of blocks, here the rows."
-     kernel((rows,), (256,), (x, y, np.int32(columns)))
+     kernel((256,), (rows,), (x, y, np.int32(columns)))

# %% exercise=8.16 hint="You launch a thread for each row, in blocks of 256. This kernel wants a whole block for each row."
-     kernel((rows,), (256,), (x, y, np.int32(columns)))
+     kernel((-(-rows // 256),), (256,), (x, y, np.int32(columns)))

# %% exercise=8.16 hint="A block as wide as a row: the task says 256 threads, and a row can have more columns than a block may have threads."
-     kernel((rows,), (256,), (x, y, np.int32(columns)))
+     kernel((rows,), (columns,), (x, y, np.int32(columns)))

# %% exercise=8.17 hint="An int has a sign: of the 64 bits the first is worth -2**63. struct reads them so with \"<q\"."
-         return struct.unpack("<q" if kind == "int" else "<d", struct.pack("<Q", number))[0]
+         return number if kind == "int" else struct.unpack("<d", struct.pack("<Q", number))[0]

# %% exercise=8.17 hint="A float is not rounded to the stack: its 64 bits lie there as they are, sign, exponent and all."
-         return struct.unpack("<q" if kind == "int" else "<d", struct.pack("<Q", number))[0]
+         return float(number) if kind == "float" else struct.unpack("<q", struct.pack("<Q", number))[0]

# %% exercise=8.17 hint="You take the value 0 for None. Only the address 0 is None; what stands at an address may be 0."
-             return unpacked(memory[number], kind[:-1]) if number else None
+             return (unpacked(memory[number], kind[:-1]) or None) if number else None

# %% exercise=8.17 hint="The arguments are still on the stack. The results take their place: stack[:] = ..."
-         stack[:] = [packed(value, kind) for value, kind in zip(results, gives)]
+         stack += [packed(value, kind) for value, kind in zip(results, gives)]

# %% exercise=8.18 hint="The = at the end of the base64 goes: rstrip(b\"=\")."
-     digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
+     digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()

# %% exercise=8.18 hint="That is the other base64, with + and /. The one for addresses has - and _ in their place: urlsafe_b64encode."
-     digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
+     digest = base64.b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()

# %% exercise=8.18 hint="RECORD has to be in its own list, by its path and two commas."
-     lines = [*(line(path, data) for path, data in files.items()), f"{record},,"]
+     lines = [line(path, data) for path, data in files.items()]

# %% exercise=8.18 hint="You pass over files that RECORD does not list. Nobody has promised anything about them: they are broken."
-     return sorted(path for path, data in files.items() if line(path, data) not in lines)
+     listed = {one.split(",")[0] for one in lines}
+     return sorted(path for path, data in files.items() if path in listed and line(path, data) not in lines)

# %% exercise=8.18 hint="You look for a line anywhere in the text of RECORD, and find it inside of another one: ...,8 stands in ...,80. Split the text into lines first."
-     lines = files.pop(record).decode().split()
+     lines = files.pop(record).decode()

# %% exercise=8.19 hint="Strides are counted in elements in a description and in bytes in NumPy: multiply by itemsize in view."
-         strides = tuple(dtype.itemsize * stride for stride in strides)
+         strides = tuple(strides)

# %% exercise=8.19 hint="describe gives NumPy's strides in bytes. Divide by the size of an element."
-         "strides": tuple(stride // x.itemsize for stride in x.strides),
+         "strides": x.strides,

# %% exercise=8.19 hint="Your view is a copy: what is written into it does not reach the memory."
-     return np.ndarray(description["shape"], dtype, memory, description["byte_offset"], strides)
+     return np.ndarray(description["shape"], dtype, memory, description["byte_offset"], strides).copy()

# %% exercise=8.19 hint="`/` gives a fraction, 1.0, and a stride is a whole number, which `view` will multiply again. Divide with `//`."
-         "strides": tuple(stride // x.itemsize for stride in x.strides),
+         "strides": tuple(stride / x.itemsize for stride in x.strides),

# %% exercise=8.19 hint="byte_offset counts bytes, not elements: hand it on as it is."
-     return np.ndarray(description["shape"], dtype, memory, description["byte_offset"], strides)
+     return np.ndarray(description["shape"], dtype, memory, description["byte_offset"] // dtype.itemsize, strides)

# %% exercise=8.19 hint="A view need not begin where its memory does: byte_offset is the difference of two addresses."
-         "byte_offset": begins[0] - begins[1],
+         "byte_offset": 0,

# %% exercise=8.20 hint="You keep the set itself at a record, and it grows with what comes later on that stream. Keep a copy."
-             kept[name] = set(before)
+             kept[name] = before

# %% exercise=8.20 hint="A wait takes in what is done on its stream; it does not forget what the waiting stream had done itself."
-             before |= kept.get(name, set())
+             done[stream] = set(kept.get(name, set()))

# %% exercise=8.20 hint="A race also is when the earlier one reads what the later one writes."
-                 if other not in before and (writes & (other_reads | other_writes) or other_writes & reads):
+                 if other not in before and other_writes & (reads | writes):

# %% exercise=8.20 hint="Two kernels that only read an array do each other no harm: one of them must write it."
-                 if other not in before and (writes & (other_reads | other_writes) or other_writes & reads):
+                 if other not in before and (reads | writes) & (other_reads | other_writes):

# %% exercise=8.20 hint="An event stands for all that was done before its record, also what its stream had waited for, not for the last kernel alone."
-             kept[name] = set(before)
+             kept[name] = {[k for k, *_ in seen if k in before][-1]} if before else set()

# %% exercise=8.20 hint="Each pair belongs on the list once, over however many arrays it quarrels."
-                 if other not in before and (writes & (other_reads | other_writes) or other_writes & reads):
-                     found.append((other, name))
+                 if other not in before:
+                     quarrels = [*(writes & other_reads), *(writes & other_writes), *(reads & other_writes)]
+                     found += [(other, name)] * len(quarrels)

# %% exercise=8.15 hint="abi3 promises newer versions of Python 3, not 4: the first numbers have to be equal."
-     return built[0] == python[0] and (built <= python if abi == "abi3" else built == python)
+     return built <= python if abi == "abi3" else built == python

# %% exercise=8.19 hint="You read the whole memory as elements and count in these. An offset counts bytes, and elements may begin between two of yours."
-     return np.ndarray(description["shape"], dtype, memory, description["byte_offset"], strides)
+     numbers = memory.view(dtype)[description["byte_offset"] // dtype.itemsize :]
+     if strides is None:
+         return numbers[: int(np.prod(description["shape"]))].reshape(description["shape"])
+     return np.lib.stride_tricks.as_strided(numbers, description["shape"], strides)

# %% exercise=8.17 hint="At the address stands a 64-bit number again, packed as the type before the mark is: unpack it before the kernel gets it."
-             return unpacked(memory[number], kind[:-1]) if number else None
+             return memory[number] if number else None

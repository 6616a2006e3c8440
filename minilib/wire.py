"""Protocol buffers, both ways: the bytes of an ONNX file as messages, and messages as bytes.

Taught in chapters/10a_file.ipynb and solutions/10a_file.ipynb: what they export is edited there, then `make
promote`.

A message is fields, one after the other; a field is a key and a value. The key is a whole number: the field's
number times 8, plus its wire type, which says how to find the value's end. What the numbers mean is not in
the file: `SCHEMA` is onnx.proto's table of them. (developers.google.com/protocol-buffers, "Encoding")

    model = read(open("model.onnx", "rb").read())
    [node.op_type for node in model.graph.node]
    open("copy.onnx", "wb").write(write(model))
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["SCHEMA", "Message", "WireError", "read", "write"]

# A message's name; then number, name and type of its fields: * many, + many in one field (packed).
_TABLE = """
ModelProto: 1 ir_version int, 2 producer_name str, 3 producer_version str, 4 domain str, 5 model_version int,
    6 doc_string str, 7 graph GraphProto, 8 opset_import OperatorSetIdProto*, 14 metadata_props StringStringEntryProto*,
    20 training_info TrainingInfoProto*, 25 functions FunctionProto*, 26 configuration DeviceConfigurationProto*
GraphProto: 1 node NodeProto*, 2 name str, 5 initializer TensorProto*, 10 doc_string str, 11 input ValueInfoProto*,
    12 output ValueInfoProto*, 13 value_info ValueInfoProto*, 14 quantization_annotation TensorAnnotation*,
    15 sparse_initializer SparseTensorProto*, 16 metadata_props StringStringEntryProto*
NodeProto: 1 input str*, 2 output str*, 3 name str, 4 op_type str, 5 attribute AttributeProto*, 6 doc_string str,
    7 domain str, 8 overload str, 9 metadata_props StringStringEntryProto*,
    10 device_configurations NodeDeviceConfigurationProto*
AttributeProto: 1 name str, 2 f float, 3 i int, 4 s bytes, 5 t TensorProto, 6 g GraphProto, 7 floats float*,
    8 ints int*, 9 strings bytes*, 10 tensors TensorProto*, 11 graphs GraphProto*, 13 doc_string str, 14 tp TypeProto,
    15 type_protos TypeProto*, 20 type int, 21 ref_attr_name str, 22 sparse_tensor SparseTensorProto,
    23 sparse_tensors SparseTensorProto*
TensorProto: 1 dims int*, 2 data_type int, 3 segment Segment, 4 float_data float+, 5 int32_data int+,
    6 string_data bytes*, 7 int64_data int+, 8 name str, 9 raw_data bytes, 10 double_data double+,
    11 uint64_data uint+, 12 doc_string str, 13 external_data StringStringEntryProto*, 14 data_location int,
    16 metadata_props StringStringEntryProto*
ValueInfoProto: 1 name str, 2 type TypeProto, 3 doc_string str, 4 metadata_props StringStringEntryProto*
TypeProto: 1 tensor_type Tensor, 4 sequence_type Sequence, 5 map_type Map, 6 denotation str, 7 opaque_type Opaque,
    8 sparse_tensor_type SparseTensor, 9 optional_type Optional
Tensor: 1 elem_type int, 2 shape TensorShapeProto
TensorShapeProto: 1 dim Dimension*
Dimension: 1 dim_value int, 2 dim_param str, 3 denotation str
Sequence: 1 elem_type TypeProto
Map: 1 key_type int, 2 value_type TypeProto
Optional: 1 elem_type TypeProto
SparseTensor: 1 elem_type int, 2 shape TensorShapeProto
Opaque: 1 domain str, 2 name str
OperatorSetIdProto: 1 domain str, 2 version int
StringStringEntryProto: 1 key str, 2 value str
FunctionProto: 1 name str, 4 input str*, 5 output str*, 6 attribute str*, 7 node NodeProto*, 8 doc_string str,
    9 opset_import OperatorSetIdProto*, 10 domain str, 11 attribute_proto AttributeProto*, 12 value_info ValueInfoProto*,
    13 overload str, 14 metadata_props StringStringEntryProto*
SparseTensorProto: 1 values TensorProto, 2 indices TensorProto, 3 dims int*
Segment: 1 begin int, 2 end int
TensorAnnotation: 1 tensor_name str, 2 quant_parameter_tensor_names StringStringEntryProto*
TrainingInfoProto: 1 initialization GraphProto, 2 algorithm GraphProto, 3 initialization_binding StringStringEntryProto*,
    4 update_binding StringStringEntryProto*
DeviceConfigurationProto: 1 name str, 2 num_devices int, 3 device str*
NodeDeviceConfigurationProto: 1 configuration_id str, 2 sharding_spec ShardingSpecProto*, 3 pipeline_stage int
ShardingSpecProto: 1 tensor_name str, 2 device int*, 3 index_to_device_group_map IntIntListEntryProto*,
    4 sharded_dim ShardedDimProto*
IntIntListEntryProto: 1 key int, 2 value int*
ShardedDimProto: 1 axis int, 2 simple_sharding SimpleShardedDimProto*
SimpleShardedDimProto: 1 dim_value int, 2 dim_param str, 3 num_shards int
"""  # noqa: E501


class Field(NamedTuple):
    """A field of a message: its type is int, uint, float, double, str, bytes, or the name of a message."""

    name: str
    type: str
    many: bool
    packed: bool


def _schema(table: str) -> dict[str, dict[int, Field]]:
    schema: dict[str, dict[int, Field]] = {}
    for line in table.strip().replace(",\n", ",").split("\n"):
        kind, _, fields = line.partition(":")
        schema[kind] = {}
        for number, name, of in (field.split() for field in fields.split(",")):
            schema[kind][int(number)] = Field(name, of.rstrip("*+"), of[-1] in "*+", of[-1] == "+")
    return schema


SCHEMA = _schema(_TABLE)
_NAMES = {kind: {field.name: field for field in fields.values()} for kind, fields in SCHEMA.items()}
_DEFAULTS: dict[str, Any] = {"int": 0, "uint": 0, "float": 0.0, "double": 0.0, "str": "", "bytes": b""}


class WireError(ValueError):
    """Bytes that are not what they should be."""


class Message:
    """A message of a kind that `SCHEMA` names: its fields are attributes, and only those can be set.

    A field that is not there reads as 0, "", b"", () or None (a message); `"name" in message` tells.
    """

    kind: str

    def __init__(self, kind: str, **fields: Any) -> None:
        object.__setattr__(self, "kind", kind)
        for name, value in fields.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _NAMES[self.kind]:
            raise AttributeError(f"{self.kind} has no field {name!r}, only {', '.join(_NAMES[self.kind])}")
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:  # called where there is no such attribute
        if name.startswith("__") or name not in _NAMES[self.kind]:
            raise AttributeError(f"{self.kind} has no field {name!r}")
        field = _NAMES[self.kind][name]
        return () if field.many else _DEFAULTS.get(field.type)

    def __contains__(self, name: str) -> bool:
        return name in vars(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return f"Message({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


# Reading


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """The whole number that begins at `at`, seven bits a byte, the lowest first; and where it ends."""
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(data):
            raise WireError("the bytes end in the middle of a number")
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        if byte < 128:  # the high bit says that more follow
            return value & (2**64 - 1), at
    raise WireError("a number is longer than ten bytes")


def fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Number and value of each field: a whole number, or the bytes that the wire type says."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        value, end = varint(data, at) if wire in (0, 2) else (0, at)
        if wire == 0:
            yield number, value
        elif wire in (1, 2, 5):
            at, end = end, end + {1: 8, 2: value, 5: 4}[wire]
            if end > len(data):
                raise WireError(f"field {number} should end at byte {end}, and there are only {len(data)}")
            yield number, data[at:end]
        else:
            raise WireError(f"field {number} has the wire type {wire}, which is none")
        at = end


def signed(value: int) -> int:
    """Negative numbers are written as what they are modulo 2**64."""
    return value - 2**64 if value >> 63 else value


def numbers(data: memoryview) -> Iterator[int]:
    """The whole numbers that stand in `data` one after the other."""
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def values(value: int | memoryview, of: str, depth: int) -> list[Any]:
    """What a field's value means, if it is `of` this type: one thing, or the numbers of a packed field."""
    if of in ("int", "uint"):
        found = [value] if isinstance(value, int) else list(numbers(value))
        return [n - 2**64 if of == "int" and n >> 63 else n for n in found]  # negative: modulo 2**64
    if isinstance(value, int):
        raise WireError(f"a whole number stands where {of} should")
    if of in ("float", "double"):
        return [n for (n,) in struct.iter_unpack(f"<{of[0]}", value)]
    if of in ("str", "bytes"):
        return [str(value, "utf-8") if of == "str" else bytes(value)]
    return [read(value, of, depth + 1)]


def read(data: bytes | memoryview, kind: str = "ModelProto", depth: int = 0) -> Message:
    """The message in these bytes; fields that the schema does not know are skipped.

    Raises WireError where the bytes are no message of this kind, or messages nest over 100 deep.
    """
    if depth > 100:
        raise WireError("messages nest more than 100 deep")
    message = Message(kind)
    for number, value in fields(memoryview(data)):
        if field := SCHEMA[kind].get(number):
            try:
                found = values(value, field.type, depth)
            except (WireError, UnicodeDecodeError, struct.error) as error:
                raise WireError(f"{field.name}: {error}") from None
            if field.many:
                vars(message).setdefault(field.name, []).extend(found)
            elif found:
                vars(message)[field.name] = found[-1]  # the last one counts
    return message


# Writing


def varint_bytes(value: int) -> bytes:
    """The bytes of a whole number, as `varint` reads them."""
    if not -(2**63) <= value < 2**64:
        raise WireError(f"{value} does not fit into 64 bits")
    value %= 2**64
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def encoded(value: Any, of: str) -> tuple[int, bytes]:
    """The wire type and the bytes of one value."""
    if of in ("int", "uint"):
        return 0, varint_bytes(int(value))
    if of in ("float", "double"):
        return (5, struct.pack("<f", value)) if of == "float" else (1, struct.pack("<d", value))
    return 2, write(value) if isinstance(value, Message) else value.encode() if of == "str" else bytes(value)


def write(message: Message) -> bytes:
    """The bytes of a message, its fields in the order of their numbers, as protobuf's own writer has them."""
    parts = []
    for key, field in sorted(SCHEMA[message.kind].items()):
        if field.name not in message:
            continue
        value = getattr(message, field.name)
        pieces = [encoded(one, field.type) for one in value] if field.many else [encoded(value, field.type)]
        if field.packed:
            pieces = [(2, b"".join(piece for _, piece in pieces))] if pieces else []
        for wire, piece in pieces:
            parts += [varint_bytes(key << 3 | wire), varint_bytes(len(piece)) if wire == 2 else b"", piece]
    return b"".join(parts)

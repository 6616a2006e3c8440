"""Protocol buffers, both ways; the examples are those of protobuf's own page on the encoding."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minilib.wire import Message, WireError, fields, read, varint, varint_bytes, write

# 2x + 1, by hand: a model of two nodes, and what stands in it.
DOUBLE = Message(
    "ModelProto",
    ir_version=8,
    graph=Message(
        "GraphProto",
        node=[
            Message("NodeProto", input=["x", "two"], output=["2x"], op_type="Mul"),
            Message("NodeProto", input=["2x", "one"], output=["y"], op_type="Add"),
        ],
        name="double",
        initializer=[
            Message("TensorProto", data_type=1, float_data=[2.0], name="two"),
            Message("TensorProto", dims=[1, 1], data_type=1, raw_data=struct.pack("<f", 1), name="one"),
        ],
    ),
    opset_import=[Message("OperatorSetIdProto", domain="", version=18)],
)


@pytest.mark.parametrize(
    "value, written", [(0, "00"), (1, "01"), (127, "7f"), (150, "9601"), (2**32, "8080808010")]
)
def test_a_whole_number_is_written_as_protobuf_writes_it(value: int, written: str) -> None:
    assert varint_bytes(value).hex() == written
    assert varint(memoryview(bytes.fromhex(written)), 0) == (value, len(written) // 2)


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers_come_back_negative_ones_too(value: int) -> None:
    dimension = Message("Dimension", dim_value=value)
    assert read(write(dimension), "Dimension") == dimension


def test_minus_two_takes_ten_bytes() -> None:
    assert write(Message("Dimension", dim_value=-2)).hex() == "08" + "feffffffffffffffff01"


def test_a_message_comes_back() -> None:
    assert read(write(DOUBLE)) == DOUBLE
    assert write(read(write(DOUBLE))) == write(DOUBLE)


def test_what_is_not_there_reads_as_its_default() -> None:
    model = read(write(DOUBLE))
    assert "producer_name" not in model and model.producer_name == ""
    assert model.graph.node[0].attribute == () and model.graph.node[0].domain == ""
    assert Message("AttributeProto").t is None


def test_numbers_may_be_packed_or_not() -> None:
    apart = bytes.fromhex("08031004".replace("10", "08"))  # dims of a tensor: a field each
    packed = bytes.fromhex("0a020304")
    assert read(apart, "TensorProto").dims == read(packed, "TensorProto").dims == [3, 4]
    one = b"\x25" + struct.pack("<f", 1.5)  # a packed field, float_data, written alone
    assert read(one, "TensorProto").float_data == [1.5]


def test_fields_that_the_schema_does_not_know_are_skipped() -> None:
    strange = varint_bytes(999 << 3 | 2) + b"\x03abc"
    assert read(strange + write(DOUBLE) + strange) == DOUBLE
    assert [number for number, _ in fields(memoryview(strange))] == [999]


def test_a_message_has_only_the_fields_of_its_kind() -> None:
    with pytest.raises(AttributeError, match=r"NodeProto has no field 'optype', only input, output"):
        Message("NodeProto", optype="Add")
    with pytest.raises(AttributeError, match="no field 'nodes'"):
        _ = DOUBLE.graph.nodes


def test_a_file_that_was_cut_anywhere_is_refused_or_read_up_to_a_fields_end() -> None:
    data = write(DOUBLE)
    refused = 0
    for end in range(len(data)):
        try:
            found = read(data[:end])
            assert all(
                getattr(found, name) == getattr(DOUBLE, name) for name in vars(found) if name != "kind"
            )
        except WireError:
            refused += 1
    assert refused > len(data) - 6  # it may end after each of the three fields, or before the first


@pytest.mark.parametrize(
    "data, message",
    [
        (b"\x08", "the bytes end in the middle of a number"),
        (b"\x08" + b"\xff" * 11, "longer than ten bytes"),
        (b"\x12\x05ab", r"field 2 should end at byte 7, and there are only 4"),
        (b"\x0b", "field 1 has the wire type 3, which is none"),
        (b"\x12\x01\xff", "producer_name: 'utf-8' codec can't decode byte 0xff"),
        (b"\x10\x01", "producer_name: a whole number stands where str should"),
        (b"\x3a\x03\x2a\x01\x08", "graph: initializer: the bytes end in the middle of a number"),
    ],
)
def test_bytes_that_are_no_message_are_told(data: bytes, message: str) -> None:
    with pytest.raises(WireError, match=message):
        read(data)


def test_messages_that_nest_without_end_are_refused() -> None:
    data = b""
    for _ in range(200):  # a sequence of sequences of ...
        data = b"\x22" + varint_bytes(len(b := b"\x0a" + varint_bytes(len(data)) + data)) + b
    with pytest.raises(WireError, match="nest more than 100 deep"):
        read(data, "TypeProto")


def test_a_number_of_over_64_bits_is_not_written() -> None:
    with pytest.raises(WireError, match="does not fit into 64 bits"):
        write(Message("Dimension", dim_value=2**64))

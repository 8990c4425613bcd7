"""What TPC-C is asked: spec/openapi/tpcc.yaml. Names are the standard's."""

from typing import Annotated

from msgspec import Meta, Struct

LINES_MIN, LINES_MAX = 5, 15

# An id out of its range is none that is stored; a number out of its own is invalid.
U32 = Annotated[int, Meta(ge=0, le=2**32 - 1)]
LastName = Annotated[str, Meta(max_length=16)]


class Line(Struct, forbid_unknown_fields=True):
    i_id: Annotated[int, Meta(ge=1, le=2**32 - 1)]
    supply_w_id: U32
    quantity: Annotated[int, Meta(ge=1, le=10)]


class NewOrder(Struct, forbid_unknown_fields=True):
    w_id: U32
    d_id: U32
    c_id: U32
    lines: Annotated[list[Line], Meta(min_length=LINES_MIN, max_length=LINES_MAX)]


class Payment(Struct, forbid_unknown_fields=True, kw_only=True):
    w_id: U32
    d_id: U32
    c_w_id: U32
    c_d_id: U32
    c_id: U32 | None = None
    c_last: LastName | None = None
    h_amount: Annotated[int, Meta(ge=1, le=1_000_000_000)]


class OrderStatus(Struct, forbid_unknown_fields=True):
    w_id: U32
    d_id: U32
    c_id: U32 | None = None
    c_last: LastName | None = None


class Delivery(Struct, forbid_unknown_fields=True):
    w_id: U32
    o_carrier_id: Annotated[int, Meta(ge=1, le=10)]


class StockLevel(Struct, forbid_unknown_fields=True):
    w_id: U32
    d_id: U32
    threshold: Annotated[int, Meta(ge=10, le=20)]

"""The routes of TPC-C's five transactions."""

import msgspec
from fastapi import APIRouter, Response

from stackmark_server.calls import Call, CallRoute, decode, json
from stackmark_server.problem import invalid, unknown_id
from stackmark_server.tpcc.words import Delivery, NewOrder, OrderStatus, Payment, StockLevel

DISTRICTS = 10

new_order_call = msgspec.json.Decoder(NewOrder)
payment_call = msgspec.json.Decoder(Payment)
order_status_call = msgspec.json.Decoder(OrderStatus)
delivery_call = msgspec.json.Decoder(Delivery)
stock_level_call = msgspec.json.Decoder(StockLevel)

routes = APIRouter(route_class=CallRoute)


@routes.post("/tpcc/new-order")
async def new_order(call: Call) -> Response:
    order = decode(new_order_call, await call.body())
    home(call, order.w_id, order.d_id)
    known("c_id", order.c_id, call.size["customers"])
    for line in order.lines:
        known("supply_w_id", line.supply_w_id, call.size["warehouses"])
    return json(await call.run("place", order))


@routes.post("/tpcc/payment")
async def payment(call: Call) -> Response:
    asked = decode(payment_call, await call.body())
    named(call, asked)
    home(call, asked.w_id, asked.d_id)
    known("c_w_id", asked.c_w_id, call.size["warehouses"])
    known("c_d_id", asked.c_d_id, DISTRICTS)
    return json(await call.run("pay", asked))


@routes.post("/tpcc/order-status")
async def order_status(call: Call) -> Response:
    asked = decode(order_status_call, await call.body())
    home(call, asked.w_id, asked.d_id)
    named(call, asked)
    return json(await call.run("report", asked))


@routes.post("/tpcc/delivery")
async def delivery(call: Call) -> Response:
    asked = decode(delivery_call, await call.body())
    known("w_id", asked.w_id, call.size["warehouses"])
    return json(await call.run("deliver", asked))


@routes.post("/tpcc/stock-level")
async def stock_level(call: Call) -> Response:
    asked = decode(stock_level_call, await call.body())
    home(call, asked.w_id, asked.d_id)
    return json(await call.run("count_low_stock", asked))


def known(name: str, id: int, most: int) -> None:
    """An id of something stored."""
    if not 1 <= id <= most:
        raise unknown_id(f"{name} {id} does not exist; it runs from 1 to {most}")


def home(call: Call, w_id: int, d_id: int) -> None:
    known("w_id", w_id, call.size["warehouses"])
    known("d_id", d_id, DISTRICTS)


def named(call: Call, asked: Payment | OrderStatus) -> None:
    if (asked.c_id is None) == (asked.c_last is None):
        raise invalid("exactly one of c_id and c_last names the customer")
    if asked.c_id is not None:
        known("c_id", asked.c_id, call.size["customers"])
    elif asked.c_last is not None and "\0" in asked.c_last:
        # Which PostgreSQL does not take in a text.
        raise unknown_id("no customer is called so")

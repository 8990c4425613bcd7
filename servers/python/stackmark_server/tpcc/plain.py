"""TPC-C's five transactions by the statements of `servers/sql`. Each gets the session that it runs on."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from stackmark_server.problem import Conflict, Defect, unknown_id
from stackmark_server.store import READ, WRITE, PlainSession, RollBack, Row, transaction
from stackmark_server.tpcc.words import Delivery, Line, NewOrder, OrderStatus, Payment, StockLevel

DISTRICTS = 10
C_DATA_MAX, C_DATA_SHOWN = 500, 200
# The highest that a column of item numbers holds; what is above it names as little.
I_ID_MAX = 2**31 - 1
EPOCH, SECOND = datetime(1970, 1, 1), timedelta(seconds=1)
ONE = 10_000


@transaction(WRITE)
async def place(session: PlainSession, order: NewOrder) -> dict[str, Any]:
    """2.4.2.2."""
    w_id, d_id, c_id = order.w_id, order.d_id, order.c_id
    [w_tax] = await one(session, "warehouse_tax", w_id)
    claim = (w_id, d_id)
    o_id, d_tax = await returning(session, "claim_order_id", claim, "read_claim", claim)
    c_discount, c_last, c_credit = await one(session, "customer_terms", w_id, d_id, c_id)
    all_local = all(line.supply_w_id == w_id for line in order.lines)
    [o_entry_d] = await one(session, "insert_order", w_id, d_id, o_id, c_id, len(order.lines), int(all_local))
    await session.change("insert_new_order", w_id, d_id, o_id)
    placed: list[Any] = [None] * len(order.lines)
    for at in working_order(order.lines):
        placed[at] = await place_line(session, order, o_id, at + 1, order.lines[at])
        if placed[at] is None:
            # 2.4.2.3: the item number is not valid, and everything so far is undone.
            raise RollBack({"status": "item-not-valid", "o_id": o_id, "c_last": c_last, "c_credit": c_credit})
    amounts = sum(line["ol_amount"] for line in placed)
    rates = rate(c_discount), rate(w_tax), rate(d_tax)
    return {
        "status": "placed",
        "o_id": o_id,
        "c_last": c_last,
        "c_credit": c_credit,
        "o_entry_d": seconds(o_entry_d),
        "c_discount": rates[0],
        "w_tax": rates[1],
        "d_tax": rates[2],
        "total_amount": order_total(amounts, *rates),
        "lines": placed,
    }


def working_order(lines: list[Line]) -> list[int]:
    """Lines in the order of their stock rows, which is the same for all.

    Two orders that want the same rows then wait for each other in one direction only, and no deadlock can come of it. An unused
    item number is the highest of all, so it still comes last.
    """
    return sorted(range(len(lines)), key=lambda at: (lines[at].i_id, lines[at].supply_w_id))


async def place_line(session: PlainSession, order: NewOrder, o_id: int, number: int, line: Line) -> dict[str, Any] | None:
    """One line: item, stock, order_line. None where the item is unused."""
    item = await session.rows("read_item", min(line.i_id, I_ID_MAX))
    if not item:
        return None
    price, i_name, i_data = item[0]
    supplier, i_id, quantity = line.supply_w_id, line.i_id, line.quantity
    s_quantity, s_data, dist_info = await one(session, "read_stock", supplier, i_id, order.d_id)
    # 2.4.2.2: refill by 91 when less than 10 would be left.
    s_quantity = s_quantity - quantity if s_quantity - quantity >= 10 else s_quantity - quantity + 91
    await session.change("update_stock", supplier, i_id, s_quantity, quantity, int(supplier != order.w_id))
    i_price = cents(price)
    amount = session.decimal(i_price * quantity)
    key = (order.w_id, order.d_id, o_id, number)
    await session.change("insert_order_line", *key, i_id, supplier, quantity, amount, dist_info)
    return {
        "i_name": i_name,
        "i_price": i_price,
        "s_quantity": s_quantity,
        "brand_generic": "B" if "ORIGINAL" in i_data and "ORIGINAL" in s_data else "G",
        "ol_amount": i_price * quantity,
    }


def order_total(amounts: int, discount: int, w_tax: int, d_tax: int) -> int:
    """The sum of ol_amount times (1 - c_discount) times (1 + w_tax + d_tax), exactly, and rounded half up to a cent."""
    return (amounts * (ONE - discount) * (ONE + w_tax + d_tax) + ONE * ONE // 2) // (ONE * ONE)


@transaction(WRITE)
async def pay(session: PlainSession, asked: Payment) -> dict[str, Any]:
    """2.5.2.2."""
    w_id, d_id, c_w_id, c_d_id = asked.w_id, asked.d_id, asked.c_w_id, asked.c_d_id
    amount = session.decimal(asked.h_amount)
    warehouse = await returning(session, "pay_warehouse", (w_id, amount), "read_paid_warehouse", (w_id,))
    district = await returning(session, "pay_district", (w_id, d_id, amount), "read_paid_district", (w_id, d_id))
    c_id = await identify(session, c_w_id, c_d_id, asked)
    key = (c_w_id, c_d_id, c_id)
    customer = paid_customer(c_id, asked.h_amount, await one(session, "read_customer", *key))
    c_data = None
    if customer["c_credit"] == "BC":
        [old] = await one(session, "read_customer_data", *key)
        c_data = bad_credit_data(asked, c_id, old)
        await session.change("pay_customer_with_data", *key, amount, c_data)
    else:
        await session.change("pay_customer", *key, amount)
    h_data = f"{warehouse[0]}    {district[0]}"
    [h_date] = await one(session, "insert_history", *key, w_id, d_id, amount, h_data)
    paid = {
        "h_date": seconds(h_date),
        "warehouse": address(warehouse[1:]),
        "district": address(district[1:]),
        "customer": customer,
    }
    if c_data is not None:
        paid["c_data"] = c_data[:C_DATA_SHOWN]
    return paid


def paid_customer(c_id: int, h_amount: int, row: Row) -> dict[str, Any]:
    """The row of `read_customer`, as the payment leaves it behind."""
    return {
        "c_id": c_id,
        "c_first": row[0],
        "c_middle": row[1],
        "c_last": row[2],
        "address": address(row[3:8]),
        "c_phone": row[8],
        "c_since": seconds(row[9]),
        "c_credit": row[10],
        "c_credit_lim": cents(row[11]),
        "c_discount": rate(row[12]),
        "c_balance": cents(row[13]) - h_amount,
    }


def bad_credit_data(asked: Payment, c_id: int, old: str) -> str:
    """2.5.2.2: the fact goes in front of c_data, which is cut at 500 characters."""
    units, rest = divmod(asked.h_amount, 100)
    fact = f"{c_id} {asked.c_d_id} {asked.c_w_id} {asked.d_id} {asked.w_id} {units}.{rest:02} "
    return (fact + old)[:C_DATA_MAX]


def address(row: Sequence[str]) -> dict[str, str]:
    return dict(zip(("street_1", "street_2", "city", "state", "zip"), row, strict=True))


@transaction(READ)
async def report(session: PlainSession, asked: OrderStatus) -> dict[str, Any]:
    """2.6.2.2."""
    c_id = await identify(session, asked.w_id, asked.d_id, asked)
    key = (asked.w_id, asked.d_id, c_id)
    c_first, c_middle, c_last, c_balance = await one(session, "customer_status", *key)
    o_id, o_entry_d, o_carrier_id = await one(session, "newest_order", *key)
    lines = await session.rows("order_lines", asked.w_id, asked.d_id, o_id)
    return {
        "c_id": c_id,
        "c_first": c_first,
        "c_middle": c_middle,
        "c_last": c_last,
        "c_balance": cents(c_balance),
        "o_id": o_id,
        "o_entry_d": seconds(o_entry_d),
        "o_carrier_id": o_carrier_id,
        "lines": [
            {
                "ol_supply_w_id": supplier,
                "ol_i_id": i_id,
                "ol_quantity": quantity,
                "ol_amount": cents(amount),
                "ol_delivery_d": None if delivered is None else seconds(delivered),
            }
            for i_id, supplier, quantity, amount, delivered in lines
        ],
    }


@transaction(WRITE)
async def deliver(session: PlainSession, asked: Delivery) -> dict[str, Any]:
    """2.7.4.2, all ten districts in one transaction."""
    return {"o_ids": [await deliver_district(session, asked, d_id) for d_id in range(1, DISTRICTS + 1)]}


async def deliver_district(session: PlainSession, asked: Delivery, d_id: int) -> int | None:
    """The oldest order of a district, or none where there is nothing to deliver."""
    w_id = asked.w_id
    oldest = await session.rows("oldest_new_order", w_id, d_id)
    if not oldest:
        return None
    o_id: int = oldest[0][0]
    key = (w_id, d_id, o_id)
    if await session.change("delete_new_order", *key) == 0:
        # Another Delivery has taken it since we looked. All of this one is done anew, on what is there now.
        raise Conflict("serialization")
    [c_id] = await returning(session, "carry_order", (*key, asked.o_carrier_id), "read_carried", key)
    await session.change("deliver_lines", *key)
    [amount] = await one(session, "sum_lines", *key)
    await change_one(session, "credit_customer", w_id, d_id, c_id, session.decimal(cents(amount)))
    return o_id


@transaction(READ)
async def count_low_stock(session: PlainSession, asked: StockLevel) -> dict[str, Any]:
    """2.8.2.2."""
    [next_o_id] = await one(session, "next_order_id", asked.w_id, asked.d_id)
    [low_stock] = await one(session, "low_stock", asked.w_id, asked.d_id, next_o_id, asked.threshold)
    return {"low_stock": low_stock}


async def identify(session: PlainSession, w_id: int, d_id: int, asked: Payment | OrderStatus) -> int:
    """2.5.2.2: by last name, the customer at position n/2, rounded up, of all who have it, sorted by first name."""
    if asked.c_id is not None:
        return asked.c_id
    namesakes = await session.rows("customers_by_name", w_id, d_id, asked.c_last)
    if not namesakes:
        raise unknown_id(f"no customer is called {asked.c_last}")
    c_id: int = namesakes[(len(namesakes) + 1) // 2 - 1][0]
    return c_id


async def one(session: PlainSession, name: str, *params: Any) -> Row:
    """The row of a statement that must find one."""
    rows = await session.rows(name, *params)
    if not rows:
        raise absent(name)
    return rows[0]


async def returning(session: PlainSession, update: str, params: tuple[Any, ...], look: str, key: tuple[Any, ...]) -> Row:
    """The row that an update changed: in one statement where there is `returning`, in two where there is not. The second reads
    what the first has locked."""
    if session.has_returning:
        return await one(session, update, *params)
    await change_one(session, update, *params)
    return await one(session, look, *key)


async def change_one(session: PlainSession, name: str, *params: Any) -> None:
    """A change of exactly one row."""
    if await session.change(name, *params) != 1:
        raise absent(name)


def absent(name: str) -> Defect:
    return Defect(f"statement `{name}` found no row where there must be one")


def cents(amount: Decimal) -> int:
    return int(amount.scaleb(2))


def rate(share: Decimal) -> int:
    """In ten-thousandths."""
    return int(share.scaleb(4))


def seconds(at: datetime) -> int:
    """Since 1970."""
    return (at - EPOCH) // SECOND

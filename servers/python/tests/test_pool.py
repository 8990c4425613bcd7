import asyncio

import pytest

from stackmark_server.pool import Pool
from stackmark_server.problem import Refused


def test_who_waits_longest_gets_the_next_free_one():
    async def check():
        pool = Pool(["a"], waiting_max=2)
        slot = await pool.take(1)
        waiting = [asyncio.create_task(pool.take(1)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Refused) as found:
            await pool.take(1)
        assert found.value.reason == "queue-full"
        for one in waiting:
            pool.give(slot)
            assert await one is slot
        pool.give(slot)
        assert await pool.take(1) is slot

    asyncio.run(check())


def test_nobody_waits_for_ever_and_who_leaves_takes_no_place():
    async def check():
        pool = Pool(["a"], waiting_max=1)
        slot = await pool.take(1)
        with pytest.raises(Refused) as found:
            await pool.take(0.001)
        assert found.value.reason == "no-session"
        leaving = asyncio.create_task(pool.take(1))
        await asyncio.sleep(0)
        # Handed over and cancelled at the same moment: the slot is not lost.
        pool.give(slot)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert await pool.take(0.1) is slot

    asyncio.run(check())


def test_a_closed_pool_gives_nothing():
    async def check():
        pool = Pool(["a"], waiting_max=1)
        await pool.take(1)
        waiting = asyncio.create_task(pool.take(1))
        await asyncio.sleep(0)
        assert pool.close() == ["a"]
        for late in (waiting, pool.take(1)):
            with pytest.raises(Refused) as found:
                await late
            assert found.value.reason == "shedding"

    asyncio.run(check())

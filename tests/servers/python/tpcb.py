"""pgbench's transaction: spec/openapi/tpcb.yaml. With a token in ADMIN_TOKEN it loads and looks at its own data, as a server may
whose store nobody else can reach."""

import hmac
import os

from server import Problem

DELTA_MAX = 5_000
FIELDS = ("aid", "tid", "bid", "delta")


TABLES = {"aid": "pgbench_accounts", "tid": "pgbench_tellers", "bid": "pgbench_branches"}

# What each place holds, by its own rows and by the history.
PLACES = {
    "accounts": ("pgbench_accounts.bid", "pgbench_accounts", "abalance", "join pgbench_accounts using (aid)"),
    "teller": ("tid", "pgbench_tellers", "tbalance", ""),
    "branch": ("bid", "pgbench_branches", "bbalance", ""),
}


class Workload:
    def __init__(self, store):
        self.store, self.token = store, os.environ.get("ADMIN_TOKEN")
        one = store.pool.get()
        self.count(lambda sql: one.execute(sql).fetchall())
        store.pool.put(one)
        self.routes = {("POST", "/tpcb/tpcb"): self.tpcb}
        if self.token:
            self.routes |= {("POST", "/admin/load"): self.load, ("GET", "/admin/evidence"): self.evidence}

    def count(self, run):
        self.last = {field: run(f"select count(*) from {table}")[0][0] for field, table in TABLES.items()}

    @property
    def scale(self):
        return self.last["bid"]

    def tpcb(self, request, work):
        aid, tid, bid, delta = self.read(request.json())
        with self.store.writing(work) as run:
            run("update pgbench_accounts set abalance = abalance + ? where aid = ?", delta, aid)
            [[balance]] = run("select abalance from pgbench_accounts where aid = ?", aid)
            run("update pgbench_tellers set tbalance = tbalance + ? where tid = ?", delta, tid)
            run("update pgbench_branches set bbalance = bbalance + ? where bid = ?", delta, bid)
            run("insert into pgbench_history (tid, bid, aid, delta, mtime) values (?, ?, ?, ?, unixepoch())", tid, bid, aid, delta)
        return 200, {"abalance": balance}

    def read(self, call):
        if not isinstance(call, dict) or set(call) != set(FIELDS):
            raise Problem("invalid", "a call is an object with aid, tid, bid and delta")
        if any(type(value) is not int for value in call.values()) or abs(call["delta"]) > DELTA_MAX:
            raise Problem("invalid", f"all are whole numbers, and delta runs from -{DELTA_MAX} to {DELTA_MAX}")
        for field, last in self.last.items():
            if not 1 <= call[field] <= last:
                raise Problem("unknown-id", f"{field} {call[field]} does not exist; it runs from 1 to {last}")
        return (call[field] for field in FIELDS)

    def is_admin(self, request):
        if not hmac.compare_digest(request.headers.get("authorization", ""), f"Bearer {self.token}"):
            raise Problem("unauthorized", "the token is missing or wrong")

    def load(self, request, work):
        self.is_admin(request)
        size = request.json()["size"]
        with self.store.writing(work) as run:
            for table in (*TABLES.values(), "pgbench_history"):
                run(f"delete from {table}")
            for bid in range(1, size["branches"] + 1):
                run("insert into pgbench_branches (bid, bbalance) values (?, 0)", bid)
                for tid in range((bid - 1) * size["tellers"] + 1, bid * size["tellers"] + 1):
                    run("insert into pgbench_tellers (tid, bid, tbalance) values (?, ?, 0)", tid, bid)
                first, last = (bid - 1) * size["accounts"] + 1, bid * size["accounts"]
                run(
                    "with recursive n(aid) as (select ? union all select aid + 1 from n where aid < ?) "
                    "insert into pgbench_accounts (aid, bid, abalance) select aid, ?, 0 from n", first, last, bid,
                )
            self.count(run)
        return 200, {"scale": self.scale}

    def evidence(self, request, work):
        self.is_admin(request)
        tallies = []
        with self.store.reading(work) as run:
            for place, (id, table, balance, join) in PLACES.items():
                moved = f"select {id}, count(*), sum(delta) from pgbench_history {join} group by 1"
                moved = {id: (entries, sum) for id, entries, sum in run(moved)}
                for id, held in run(f"select {id}, sum({balance}) from {table} group by 1 order by 1"):
                    entries, sum = moved.get(id, (0, 0))
                    tallies.append({"place": place, "id": id, "balance": held, "entries": entries, "moved": sum})
        wrong = [tally for tally in tallies if tally["balance"] != tally["moved"]]
        audit = {"name": "balances", "passed": not wrong, "sentence": f"{len(wrong)} balances are not what the history adds up to"}
        return 200, {"evidence": tallies, "audits": [audit]}

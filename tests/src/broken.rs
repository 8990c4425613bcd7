//! Servers that are broken on purpose: the small server in Python with one thing changed in its source, and the rule of
//! `stackmark verify` that must call it broken.

#[derive(Debug, Clone, Copy)]
pub struct Broken {
    /// What is wrong with it.
    pub what: &'static str,
    /// The file of the server that is changed.
    pub file: &'static str,
    /// What stands there once, and what stands there instead.
    pub change: (&'static str, &'static str),
    /// The rule that must be called broken. Others may be broken with it.
    pub rule: &'static str,
    /// What the finding must say.
    pub says: &'static str,
}

const CATALOGUE: &str = "catalogue.py";
const TPCB: &str = "tpcb.py";
const SERVER: &str = "server.py";
/// The rule that can only be checked where what is written is not in memory anyway.
pub const DURABILITY: &str = "durability";

impl Broken {
    /// The workload that shows it.
    pub fn workload(&self) -> &'static str {
        if self.file == TPCB { "tpcb" } else { "catalogue" }
    }
}

const fn broken(
    what: &'static str,
    file: &'static str,
    change: (&'static str, &'static str),
    rule: &'static str,
    says: &'static str,
) -> Broken {
    Broken { what, file, change, rule, says }
}

/// All of them. Between a look and the change that it is for, those of races pause, so that others come in between; where the order
/// of two calls decides, one waits for the other.
pub const SERVERS: &[Broken] = &[
    broken(
        "a lost update: the version is compared before the change, in a transaction of its own",
        CATALOGUE,
        (
            "        with self.store.writing(work) as run:\n            if run(text, *values.values(), id, version) == 0:",
            "        with self.store.reading(work) as run:\n            found = run(f\"select version from {table} where id = ?\", id)\n        \
             __import__(\"time\").sleep(0.05)\n        \
             with self.store.writing(work) as run:\n            text = text.replace(\" and version = ?\", \" and 0 < ?\")\n            \
             if not found or found[0][0] != version or run(text, *values.values(), id, version) == 0:",
        ),
        "race/lost-update",
        "were acknowledged as made",
    ),
    broken(
        "a category is created twice",
        CATALOGUE,
        (
            "insert into category (id, name, version) values (?, ?, 1) on conflict (id) do nothing",
            "insert or replace into category (id, name, version) values (?, ?, 1)",
        ),
        "golden",
        "category-create",
    ),
    broken(
        "a food is created twice where two create it at the same moment",
        CATALOGUE,
        (
            "        with self.store.writing(work) as run:\n            self.insert(run, category, [(id, facts)])",
            "        with self.store.reading(work) as run:\n            if run(\"select 1 from food where id = ?\", id):\n                \
             if run(\"select 1 from category where id = ?\", category):\n                    raise Decline(*FOOD_EXISTS)\n        \
             __import__(\"time\").sleep(0.05)\n        \
             with self.store.writing(work) as run:\n            if not run(\"select 1 from category where id = ?\", category):\n                \
             raise Decline(*UNKNOWN_CATEGORY)\n            run(f\"insert or replace into food ({FOOD}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)\", id, category, *facts)",
        ),
        "race/double-insert",
        "were acknowledged as made",
    ),
    broken(
        "the total is that of the page",
        CATALOGUE,
        ("\"total\": total,", "\"total\": len(rows),"),
        "golden",
        "foods-list",
    ),
    broken(
        "the total is that of all foods, whatever the filter",
        CATALOGUE,
        ("[[total]] = run(total_of, *values)", "[[total]] = run(\"select count(*) from food\")"),
        "golden",
        "total",
    ),
    broken(
        "a field is left out where it is null",
        CATALOGUE,
        (
            "    return dict(zip(COLUMNS, row))",
            "    return {name: value for name, value in zip(COLUMNS, row) if value is not None}",
        ),
        "golden",
        "fibre",
    ),
    broken(
        "what was created is answered with 200",
        CATALOGUE,
        (
            "        return 201, {\"version\": 1}, [etag(1)]\n\n    def insert_foods",
            "        return 200, {\"version\": 1}, [etag(1)]\n\n    def insert_foods",
        ),
        "schema",
        "status",
    ),
    broken(
        "a filter is ignored",
        CATALOGUE,
        (
            "where, values = \"category = ?\", [a_whole(\"category\", given[\"category\"], 1, ID_MAX)]",
            "a_whole(\"category\", given[\"category\"], 1, ID_MAX)",
        ),
        "golden",
        "foods-list",
    ),
    broken(
        "a search finds what holds the text anywhere",
        CATALOGUE,
        (
            "where, values = \"name >= ? and name < ?\", [begin, begin + \"\\x7f\"]",
            "where, values = \"name like ?\", [f\"%{begin}%\"]",
        ),
        "golden",
        "foods-list",
    ),
    broken(
        "foods with equal keys are in no order",
        CATALOGUE,
        ("order by {order}, id limit ? offset ?", "order by {order}, id desc limit ? offset ?"),
        "golden",
        "foods-list",
    ),
    broken(
        "a page after a food begins with that food again",
        CATALOGUE,
        ("after = f\"({order}, id) > (?, ?)\"", "after = f\"({order}, id) >= (?, ?)\""),
        "golden",
        "foods-list",
    ),
    broken(
        "a list is answered from a cache",
        CATALOGUE,
        (
            "    def categories(self, request, work):\n",
            "    def categories(self, request, work):\n        self.cached = getattr(self, \"cached\", None) or self.uncached(request, work)\n        \
             return self.cached\n\n    def uncached(self, request, work):\n",
        ),
        "golden",
        "categories",
    ),
    broken(
        "half of a bulk insert stays",
        CATALOGUE,
        (
            "            raise Decline(*FOOD_EXISTS)\n\n    def update_food",
            "            run(\"commit\")\n            run(\"begin\")\n            raise Decline(*FOOD_EXISTS)\n\n    def update_food",
        ),
        "golden",
        "food",
    ),
    broken(
        "a bulk insert can be seen while it is going on",
        CATALOGUE,
        (
            "        if run(f\"insert into food ({FOOD}) values {marks} on conflict (id) do nothing\", *values) < len(rows):",
            "        known = run(f\"select 1 from food where id in ({', '.join('?' * len(rows))})\", *(id for id, _ in rows))\n        \
             for id, facts in [] if known else rows:\n            run(f\"insert into food ({FOOD}) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)\", id, category, *facts)\n            \
             run(\"commit\")\n            __import__(\"time\").sleep(0.05)\n            run(\"begin immediate\")\n        if known:",
        ),
        "race/half-a-bulk-insert",
        "of its 50 foods",
    ),
    broken(
        "a failure is answered with 200",
        SERVER,
        ("        self.answer(problem.status, {", "        self.answer(200, {"),
        "bad-input",
        "200",
    ),
    broken(
        "reads see an old moment",
        SERVER,
        (
            "            self.end(connection, \"commit\")\n            self.pool.put(connection)\n\n    @contextmanager\n    def writing",
            "            self.pool.put(connection)\n\n    @contextmanager\n    def writing",
        ),
        "golden",
        "category-read",
    ),
    broken(
        "everything that is to be created is declined",
        CATALOGUE,
        (
            "        body = fields(request.json(), {\"id\", \"name\"})\n",
            "        body = fields(request.json(), {\"id\", \"name\"})\n        raise Decline(*CATEGORY_EXISTS)\n",
        ),
        "golden",
        "category-create",
    ),
    broken(
        "changes are acknowledged and not stored",
        SERVER,
        (
            "                connection.execute(\"commit\")\n                work.commits += 1",
            "                connection.execute(\"rollback\")\n                work.commits += 1",
        ),
        "stored",
        "rows",
    ),
    broken(
        "the entity tag is of the version before",
        CATALOGUE,
        ("[etag(version + 1)]", "[etag(version)]"),
        "headers",
        "etag",
    ),
    broken(
        "problems are plain JSON",
        SERVER,
        ("\"application/problem+json\" if problem else \"application/json\"", "\"application/json\""),
        "schema",
        "application/problem+json",
    ),
    broken(
        "unknown fields are passed over",
        CATALOGUE,
        ("not names <= set(body) <= names | optional", "not names <= set(body)"),
        "bad-input",
        "a field that is not known",
    ),
    broken(
        "a number may be true",
        CATALOGUE,
        ("if type(value) is not int or", "if not isinstance(value, int) or"),
        "bad-input",
        "true",
    ),
    broken(
        "arrays within arrays end the thread",
        SERVER,
        ("except (ValueError, RecursionError) as error:", "except ValueError as error:"),
        "bad-input",
        "30,000 arrays",
    ),
    broken(
        "any type of body is read",
        SERVER,
        ("if kind not in (\"application/json\", \"application/json;charset=utf-8\"):", "if not kind:"),
        "bad-input",
        "text/plain",
    ),
    broken(
        "a method that a path has not is a path that is not there",
        SERVER,
        (
            "raise Problem(\"method-not-allowed\", f\"{path} has {self.allow}\")",
            "raise Problem(\"unknown-path\", \"nothing is here\")",
        ),
        "methods",
        "405",
    ),
    broken(
        "a change needs no version",
        CATALOGUE,
        ("    if not tags:\n", "    if not tags:\n        return 1\n    if not tags:\n"),
        "bad-input",
        "if-match is missing",
    ),
    broken(
        "a category is removed while foods come into it",
        CATALOGUE,
        (
            "        with self.store.writing(work) as run:\n            found = run(f\"select version from {table} where id = ?\", id)",
            "        for _ in range(200):\n            with self.store.reading(work) as run:\n                if run(used, id):\n                    \
             break\n            __import__(\"time\").sleep(0.01)\n        used = \"select 1 where 0 > ?\"\n        \
             with self.store.writing(work) as run:\n            found = run(f\"select version from {table} where id = ?\", id)",
        ),
        "race/category-in-use",
        "foods were created in it",
    ),
    broken(
        "the parts of a call's time are more than the whole",
        SERVER,
        (
            "f\"query;dur={self.spent * 1000:.3f}, total;dur={total:.3f}\"",
            "f\"query;dur={total + 1:.3f}, total;dur={total:.3f}\"",
        ),
        "server-timing",
        "its total as the server reports it took",
    ),
    broken(
        "every connection is closed behind its answer",
        SERVER,
        (
            "    def answer(self, status, document=None, headers=()):\n",
            "    def answer(self, status, document=None, headers=()):\n        self.close_connection = True\n",
        ),
        "keep-alive",
        "connection: close",
    ),
    broken(
        "a connection that is idle for a second is closed",
        SERVER,
        ("    protocol_version = \"HTTP/1.1\"\n", "    protocol_version = \"HTTP/1.1\"\n    timeout = 1\n"),
        "keep-alive",
        "s without a request",
    ),
    broken(
        "a template shows foods as they were when it was first read",
        CATALOGUE,
        (
            "    def template(self, request, work):\n        id = path_id(request)\n",
            "    def template(self, request, work):\n        id = path_id(request)\n        self.read = getattr(self, \"read\", {})\n        \
             self.read[id] = self.read.get(id) or self.fresh(request, work, id)\n        return self.read[id]\n\n    \
             def fresh(self, request, work, id):\n",
        ),
        "golden",
        "template-full",
    ),
    broken(
        "the items of a meal are in no order",
        CATALOGUE,
        ("order by d.day, m.meal, i.item", "order by d.day, m.meal, f.kcal"),
        "golden",
        "template-full",
    ),
    broken(
        "answers to calls at the same moment are mixed up",
        SERVER,
        (
            "        body = b\"\" if document is None else json.dumps(document).encode()\n",
            "        Handler.shared = b\"\" if document is None else json.dumps(document).encode()\n        \
             time.sleep(0.002)\n        body = Handler.shared\n",
        ),
        "concurrent-reads",
        "beside seven others",
    ),
    broken(
        "a change is answered with the version of another one",
        CATALOGUE,
        (
            "        return 200, {\"version\": version + 1}, [etag(version + 1)]\n",
            "        self.latest = version + 1\n        __import__(\"time\").sleep(0.005)\n        \
             return 200, {\"version\": self.latest}, [etag(self.latest)]\n",
        ),
        "concurrent-calls",
        "beside seven others",
    ),
    broken(
        "no more than a hundred foods are counted",
        CATALOGUE,
        ("[[total]] = run(total_of, *values)", "total = min(run(total_of, *values)[0][0], 100)"),
        "more-data",
        "total",
    ),
    broken(
        "of a field that is there twice the second counts",
        SERVER,
        ("json.loads(self.body, object_pairs_hook=once)", "json.loads(self.body)"),
        "bad-input",
        "is there twice",
    ),
    broken(
        "a whole number may have a fraction of zero",
        CATALOGUE,
        (
            "    if type(value) is not int or not least <= value <= most:\n",
            "    value = int(value) if type(value) is float and value.is_integer() else value\n    \
             if type(value) is not int or not least <= value <= most:\n",
        ),
        "bad-input",
        ".0",
    ),
    broken(
        "an id that no column holds is an error of the engine",
        CATALOGUE,
        (
            "    id = whole(request.ids[0], 1, ID_MAX)\n",
            "    id = whole(request.ids[0], 1, ID_MAX) or (int(request.ids[0]) if len(request.ids[0]) == 20 else None)\n",
        ),
        "bad-input",
        "{id} in the path is 18446744073709551616",
    ),
    broken(
        "a request need not say which host it is for",
        SERVER,
        ("            self.check_host()\n", ""),
        "host",
        "no host: 400",
    ),
    broken(
        "a body that does not arrive is called malformed",
        SERVER,
        (
            "        self.connection.settimeout(BODY_READ_S)\n        try:\n            return self.rfile.read(length)\n        \
             except TimeoutError:\n",
            "        self.connection.settimeout(1)\n        try:\n            return self.rfile.read(length)\n        \
             except TimeoutError:\n            raise Problem(\"malformed\", \"the body is cut off\") from None\n",
        ),
        "slow-body",
        "400 ",
    ),
    broken(
        "the pool that it names is not the one that it was given",
        SERVER,
        ("\"pool\": store.size,", "\"pool\": 64,"),
        "pool",
        "a pool of 64",
    ),
    broken(
        "it has twice as many connections to the engine as it says",
        SERVER,
        ("        for _ in range(size):\n", "        for _ in range(2 * size):\n"),
        "pool",
        "16",
    ),
    broken(
        "only the connection that is asked for its settings flushes",
        SERVER,
        ("{self.options.get('synchronous', 'full')}\")", "{'full' if self.pool.empty() else 'off'}\")"),
        DURABILITY,
        ", one after the other, to a server that says",
    ),
    broken(
        "a connection is closed that is idle for a second after a call",
        SERVER,
        (
            "        self.send_response(status)\n",
            "        self.send_response(status)\n        self.connection.settimeout(None if self.path == \"/health\" else 1)\n",
        ),
        "keep-alive",
        "s without a request",
    ),
    broken(
        "rows have the time of ten days ago",
        TPCB,
        ("(?, ?, ?, ?, unixepoch())", "(?, ?, ?, ?, unixepoch() - 864000)"),
        "audits",
        "rows of history have the dates of the run",
    ),
    broken(
        "a call is stored 30 ms after its answer",
        TPCB,
        (
            "    def tpcb(self, request, work):\n",
            "    def tpcb(self, request, work):\n        import threading\n        from server import Work\n        \
             aid, _, _, delta = self.read(request.json())\n        \
             threading.Timer(0.03, self.stored, (request, Work())).start()\n        \
             with self.store.reading(work) as run:\n            \
             [[balance]] = run(\"select abalance from pgbench_accounts where aid = ?\", aid)\n        \
             return 200, {\"abalance\": balance + delta}\n\n    def stored(self, request, work):\n",
        ),
        DURABILITY,
        "on the disk when it is answered",
    ),
    broken(
        "rows have no time",
        TPCB,
        ("(?, ?, ?, ?, unixepoch())", "(?, ?, ?, ?, null)"),
        "audits",
        "each row of history has a time",
    ),
];

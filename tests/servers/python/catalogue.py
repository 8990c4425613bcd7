"""A food catalogue: spec/openapi/catalogue.yaml, and the statements of spec/sql/catalogue."""

import re
from urllib.parse import parse_qsl

from server import Decline, Problem

ID_MAX = 2**53 - 1
VERSION_MAX = 2**63 - 2
LIMITS = {"kcal": 900, "protein": 1000, "fat": 1000, "carbs": 1000, "fibre": 1000, "price": 1_000_000}
FIELDS = ("name", "kcal", "protein", "fat", "carbs", "fibre", "price")
FOOD = "id, category, " + ", ".join(FIELDS) + ", version"
COLUMNS = FOOD.split(", ")
BULK_MAX, PAGE_SIZE, PAGE_SIZE_MAX, PAGE_MAX = 50, 20, 100, 1_000_000

NO_CATEGORY = (404, "no-such-category", "there is no such category")
NO_FOOD = (404, "no-such-food", "there is no such food")
NO_TEMPLATE = (404, "no-such-template", "there is no such template")
STALE = (412, "stale-version", "it has another version by now")
CATEGORY_EXISTS = (409, "category-exists", "a category with this id is there already")
FOOD_EXISTS = (409, "food-exists", "a food with this id is there already")
CATEGORY_IN_USE = (409, "category-in-use", "foods belong to this category")
FOOD_IN_USE = (409, "food-in-use", "templates use this food")
UNKNOWN_CATEGORY = (422, "unknown-category", "the category that the food is to belong to does not exist")

TEMPLATE = """
select t.name, d.day, m.meal, m.name, f.id, f.name, f.kcal, i.grams
from template as t
left join template_day as d on d.template = t.id
left join template_meal as m on m.template = d.template and m.day = d.day
left join template_item as i on i.template = m.template and i.day = m.day and i.meal = m.meal
left join food as f on f.id = i.food
where t.id = ?
order by d.day, m.meal, i.item
"""


class Workload:
    def __init__(self, store):
        self.store = store
        one = store.pool.get()
        [foods] = one.execute("select count(*) from food").fetchone()
        store.pool.put(one)
        # Thousands of foods; the data of the golden vectors has fewer.
        self.scale = max(1, foods // 1000)
        self.routes = {
            ("GET", "/categories"): self.categories,
            ("POST", "/categories"): self.create_category,
            ("GET", "/categories/{id}"): self.category,
            ("PUT", "/categories/{id}"): self.update_category,
            ("DELETE", "/categories/{id}"): self.delete_category,
            ("GET", "/foods"): self.foods,
            ("POST", "/foods"): self.create_food,
            ("GET", "/foods/{id}"): self.food,
            ("PUT", "/foods/{id}"): self.update_food,
            ("DELETE", "/foods/{id}"): self.delete_food,
            ("POST", "/foods/bulk"): self.insert_foods,
            ("GET", "/templates/{id}/full"): self.template,
        }

    # Categories.

    def categories(self, request, work):
        with self.store.reading(work) as run:
            rows = run("select id, name, version from category order by id")
        return 200, {"categories": [dict(zip(("id", "name", "version"), row)) for row in rows]}

    def category(self, request, work):
        id = path_id(request)
        with self.store.reading(work) as run:
            rows = run("select id, name, version from category where id = ?", id)
        if not rows:
            raise Decline(*NO_CATEGORY)
        [(id, name, version)] = rows
        return 200, {"id": id, "name": name, "version": version}, [etag(version)]

    def create_category(self, request, work):
        body = fields(request.json(), {"id", "name"})
        id, name = a_number("id", body["id"], 1, ID_MAX), a_name("name", body["name"])
        with self.store.writing(work) as run:
            if run("insert into category (id, name, version) values (?, ?, 1) on conflict (id) do nothing", id, name) == 0:
                raise Decline(*CATEGORY_EXISTS)
        return 201, {"version": 1}, [etag(1)]

    def update_category(self, request, work):
        id, version = path_id(request), if_match(request)
        name = a_name("name", fields(request.json(), {"name"})["name"])
        return self.change(work, "category", NO_CATEGORY, id, version, {"name": name})

    def delete_category(self, request, work):
        used = "select 1 from food where category = ? limit 1"
        return self.remove(work, "category", NO_CATEGORY, used, CATEGORY_IN_USE, request)

    # Foods.

    def foods(self, request, work):
        given = parameters(request.query)
        where, values = "", []
        if "category" in given and "search" in given or "page" in given and "after" in given:
            raise Problem("invalid", "category and search exclude each other, and so do page and after")
        if "category" in given:
            where, values = "category = ?", [a_whole("category", given["category"], 1, ID_MAX)]
        elif "search" in given:
            begin = a_name("search", given["search"])
            where, values = "name >= ? and name < ?", [begin, begin + "\x7f"]
        order = given.get("order", "name")
        if order not in ("name", "kcal"):
            raise Problem("invalid", "order is neither name nor kcal")
        size = a_whole("size", given.get("size", str(PAGE_SIZE)), 1, PAGE_SIZE_MAX)
        total_of = f"select count(*) from food where {where or 'true'}"
        if "after" in given:
            key, id = behind(given["after"], order)
            after = f"({order}, id) > (?, ?)"
            wanted = f"{where} and {after}" if where else after
            text = f"select {FOOD} from food where {wanted} order by {order}, id limit ?"
            with self.store.reading(work) as run:
                rows = run(text, *values, key, id, size)
            return 200, {"foods": [a_food(row) for row in rows]}
        page = a_whole("page", given.get("page", "1"), 1, PAGE_MAX)
        text = f"select {FOOD} from food where {where or 'true'} order by {order}, id limit ? offset ?"
        with self.store.reading(work) as run:
            [[total]] = run(total_of, *values)
            rows = run(text, *values, size, (page - 1) * size)
        return 200, {"total": total, "foods": [a_food(row) for row in rows]}

    def food(self, request, work):
        id = path_id(request)
        with self.store.reading(work) as run:
            rows = run(f"select {FOOD} from food where id = ?", id)
        if not rows:
            raise Decline(*NO_FOOD)
        food = a_food(rows[0])
        return 200, food, [etag(food["version"])]

    def create_food(self, request, work):
        body = request.json()
        facts = valid("", body, {"id", "category"})
        id, category = (a_number(name, body[name], 1, ID_MAX) for name in ("id", "category"))
        with self.store.writing(work) as run:
            self.insert(run, category, [(id, facts)])
        return 201, {"version": 1}, [etag(1)]

    def insert_foods(self, request, work):
        body = fields(request.json(), {"category", "foods"})
        foods = body["foods"]
        if not isinstance(foods, list) or not 1 <= len(foods) <= BULK_MAX:
            raise Problem("invalid", f"foods is a list of 1 to {BULK_MAX}")
        rows = []
        for at, food in enumerate(foods):
            facts = valid(f"foods[{at}]: ", food, {"id"})
            rows.append((a_number(f"foods[{at}].id", food["id"], 1, ID_MAX), facts))
        if len({id for id, _ in rows}) < len(rows):
            raise Problem("invalid", "two foods have the same id")
        category = a_number("category", body["category"], 1, ID_MAX)
        with self.store.writing(work) as run:
            self.insert(run, category, rows)
        return 201, {"inserted": len(rows)}

    def insert(self, run, category, rows):
        if not run("select 1 from category where id = ?", category):
            raise Decline(*UNKNOWN_CATEGORY)
        marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, 1)"] * len(rows))
        values = [value for id, facts in rows for value in (id, category, *facts)]
        if run(f"insert into food ({FOOD}) values {marks} on conflict (id) do nothing", *values) < len(rows):
            raise Decline(*FOOD_EXISTS)

    def update_food(self, request, work):
        id, version = path_id(request), if_match(request)
        facts = valid("", request.json(), set())
        return self.change(work, "food", NO_FOOD, id, version, dict(zip(FIELDS, facts)))

    def delete_food(self, request, work):
        used = "select 1 from template_item where food = ? limit 1"
        return self.remove(work, "food", NO_FOOD, used, FOOD_IN_USE, request)

    # Both.

    def change(self, work, table, absent, id, version, values):
        columns = ", ".join(f"{name} = ?" for name in values)
        text = f"update {table} set {columns}, version = version + 1 where id = ? and version = ?"
        with self.store.writing(work) as run:
            if run(text, *values.values(), id, version) == 0:
                there = run(f"select 1 from {table} where id = ?", id)
                raise Decline(*(STALE if there else absent))
        return 200, {"version": version + 1}, [etag(version + 1)]

    def remove(self, work, table, absent, used, in_use, request):
        id, version = path_id(request), if_match(request)
        with self.store.writing(work) as run:
            found = run(f"select version from {table} where id = ?", id)
            if not found:
                raise Decline(*absent)
            if found[0][0] != version:
                raise Decline(*STALE)
            if run(used, id):
                raise Decline(*in_use)
            run(f"delete from {table} where id = ?", id)
        return 204, None

    # Templates.

    def template(self, request, work):
        id = path_id(request)
        with self.store.reading(work) as run:
            rows = run(TEMPLATE, id)
        if not rows:
            raise Decline(*NO_TEMPLATE)
        days = []
        for _, day, meal, name, food, food_name, kcal, grams in rows:
            if day is not None and (not days or days[-1]["day"] != day):
                days.append({"day": day, "meals": []})
            if meal is not None and (not days[-1]["meals"] or days[-1]["meals"][-1]["meal"] != meal):
                days[-1]["meals"].append({"meal": meal, "name": name, "items": []})
            if food is not None:
                item = {"food": food, "name": food_name, "kcal": kcal, "grams": grams}
                days[-1]["meals"][-1]["items"].append(item)
        return 200, {"id": id, "name": rows[0][0], "days": days}


def etag(version):
    return "etag", f'"{version}"'


def a_food(row):
    return dict(zip(COLUMNS, row))


def whole(text, least, most):
    """Digits without a sign and without zeros before them, or nothing."""
    number = int(text) if re.fullmatch("0|[1-9][0-9]{0,18}", text, re.ASCII) else None
    return number if number is not None and least <= number <= most else None


def a_whole(name, text, least, most):
    number = whole(text, least, most)
    if number is None:
        raise Problem("invalid", f"{name} is not a number of {least} to {most}")
    return number


def a_number(name, value, least, most):
    if type(value) is not int or not least <= value <= most:
        raise Problem("invalid", f"{name} is a whole number of {least} to {most}")
    return value


def a_name(name, text):
    if type(text) is not str or not re.fullmatch("[a-z0-9-]([a-z0-9 -]{0,46}[a-z0-9-])?", text):
        raise Problem("invalid", f"{name} is 1 to 48 of a-z, 0-9, space and hyphen, with no space at either end")
    return text


def fields(body, names, optional=frozenset()):
    if not isinstance(body, dict) or not names <= set(body) <= names | optional:
        raise Problem("invalid", f"the body is an object with {', '.join(sorted(names))}")
    return body


def valid(place, body, more):
    """The facts of a food, in the order of their columns."""
    fields(body, (set(FIELDS) | more) - {"fibre"}, {"fibre"})
    facts = {"fibre": None, **body}
    a_name(f"{place}name", facts["name"])
    for name, most in LIMITS.items():
        if name != "fibre" or facts[name] is not None:
            a_number(f"{place}{name}", facts[name], 0, most)
    if facts["protein"] + facts["fat"] + facts["carbs"] > 1000:
        raise Problem("invalid", f"{place}protein, fat and carbs are more than 100 g together")
    return [facts[name] for name in FIELDS]


def path_id(request):
    id = whole(request.ids[0], 1, ID_MAX)
    if id is None:
        raise Problem("unknown-id", f"the id in the path is not a number of 1 to {ID_MAX}")
    return id


def if_match(request):
    tags = request.headers.get_all("if-match")
    if not tags:
        raise Problem("unconditional", "if-match is missing; it names the version to be changed")
    if len(tags) > 1:
        raise Problem("invalid", "if-match is given more than once")
    # Blanks around a value are not part of it (RFC 9110, 5.5); this library leaves those behind it.
    quoted = re.fullmatch('"([0-9]+)"', tags[0].strip(" \t"), re.ASCII)
    version = whole(quoted[1], 1, VERSION_MAX) if quoted else None
    if version is None:
        raise Problem("invalid", 'if-match is not the etag of an answer: a version in quotes, such as "1"')
    return version


def parameters(query):
    given = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in ("category", "search", "order", "page", "after", "size"):
            raise Problem("invalid", "a parameter is not known")
        if name in given:
            raise Problem("invalid", f"{name} is given twice")
        given[name] = value
    return given


def behind(after, order):
    """Where a list goes on: the key and the id of the food before."""
    key, comma, id = after.partition(",")
    id = whole(id, 1, ID_MAX)
    if order == "kcal":
        key = whole(key, 0, LIMITS["kcal"])
    elif not re.fullmatch("[a-z0-9-]([a-z0-9 -]{0,46}[a-z0-9-])?", key):
        key = None
    if not comma or id is None or key is None:
        raise Problem("invalid", f"after is not the {order} and the id of a food with a comma between them")
    return key, id

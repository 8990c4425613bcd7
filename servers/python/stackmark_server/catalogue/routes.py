"""The routes of the catalogue. The transactions behind them are those of `plain` or of `orm`."""

import msgspec
from fastapi import APIRouter, Response

from stackmark_server.calls import Call, CallRoute, decode, etag, json
from stackmark_server.catalogue.words import CategoryChange, FoodChange, NewCategory, NewFood, NewFoods, Wanted

new_category = msgspec.json.Decoder(NewCategory)
category_change = msgspec.json.Decoder(CategoryChange)
new_food = msgspec.json.Decoder(NewFood)
food_change = msgspec.json.Decoder(FoodChange)
new_foods = msgspec.json.Decoder(NewFoods)

routes = APIRouter(route_class=CallRoute)


@routes.get("/categories")
async def categories(call: Call) -> Response:
    return json({"categories": await call.run("read_categories")})


@routes.get("/categories/{id:id}")
async def category(call: Call) -> Response:
    found = await call.run("read_category", call.id())
    return json(found, headers=etag(found.version))


@routes.post("/categories")
async def create_category(call: Call) -> Response:
    new = decode(new_category, await call.body())
    await call.run("insert_category", new)
    return json({"version": 1}, 201, etag(1))


@routes.put("/categories/{id:id}")
async def update_category(call: Call) -> Response:
    body, id, version = await call.body(), call.id(), call.version()
    change = decode(category_change, body)
    await call.run("update_category", id, version, change)
    return json({"version": version + 1}, headers=etag(version + 1))


@routes.delete("/categories/{id:id}")
async def delete_category(call: Call) -> Response:
    id, version = call.id(), call.version()
    await call.run("remove_category", id, version)
    return Response(status_code=204)


@routes.get("/foods")
async def foods(call: Call) -> Response:
    wanted = Wanted.read(call.scope["query_string"].decode("latin-1"))
    return json(await call.run("read_page" if wanted.after is None else "read_behind", wanted))


@routes.post("/foods")
async def create_food(call: Call) -> Response:
    new = decode(new_food, await call.body())
    await call.run("insert_food", new)
    return json({"version": 1}, 201, etag(1))


@routes.post("/foods/bulk")
async def create_foods(call: Call) -> Response:
    new = decode(new_foods, await call.body())
    await call.run("insert_foods", new)
    return json({"inserted": len(new.foods)}, 201)


@routes.get("/foods/{id:food}")
async def food(call: Call) -> Response:
    found = await call.run("read_food", call.id())
    return json(found, headers=etag(found.version))


@routes.put("/foods/{id:food}")
async def update_food(call: Call) -> Response:
    body, id, version = await call.body(), call.id(), call.version()
    change = decode(food_change, body)
    await call.run("update_food", id, version, change)
    return json({"version": version + 1}, headers=etag(version + 1))


@routes.delete("/foods/{id:food}")
async def delete_food(call: Call) -> Response:
    id, version = call.id(), call.version()
    await call.run("remove_food", id, version)
    return Response(status_code=204)


@routes.get("/templates/{id:id}/full")
async def template(call: Call) -> Response:
    return json(await call.run("read_template", call.id()))

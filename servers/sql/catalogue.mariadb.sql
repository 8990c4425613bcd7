-- The statements of spec/sql/catalogue as mariadb takes them. Made from there, not by hand: see servers/README.md.

-- name: categories
-- params:
select id, name, version
from category
order by id

-- name: category
-- params: 1
select id, name, version
from category
where id = ?

-- name: insert_category
-- params: 1 2
insert ignore into category (id, name, version)
values (?, ?, 1)

-- name: update_category
-- params: 3 1 2
update category
set name = ?, version = version + 1
where id = ? and version = ?

-- name: lock_category
-- params: 1
select version
from category
where id = ?
for update

-- name: hold_category
-- params: 1
select 1
from category
where id = ?
lock in share mode

-- name: food_of_category
-- params: 1
select 1
from food
where category = ?
limit 1

-- name: delete_category
-- params: 1
delete from category
where id = ?

-- name: food
-- params: 1
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where id = ?

-- name: foods_by_name_page
-- params: 1 2
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
order by name, id
limit ? offset ?

-- name: foods_by_name_after
-- params: 2 2 3 1
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ? and (name > ? or id > ?)
order by name, id
limit ?

-- name: foods_by_kcal_page
-- params: 1 2
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
order by kcal, id
limit ? offset ?

-- name: foods_by_kcal_after
-- params: 2 2 3 1
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where kcal >= ? and (kcal > ? or id > ?)
order by kcal, id
limit ?

-- name: category_foods_by_name_page
-- params: 1 2 3
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = ?
order by name, id
limit ? offset ?

-- name: category_foods_by_name_after
-- params: 1 3 3 4 2
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = ? and name >= ? and (name > ? or id > ?)
order by name, id
limit ?

-- name: category_foods_by_kcal_page
-- params: 1 2 3
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = ?
order by kcal, id
limit ? offset ?

-- name: category_foods_by_kcal_after
-- params: 1 3 3 4 2
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = ? and kcal >= ? and (kcal > ? or id > ?)
order by kcal, id
limit ?

-- name: search_foods_by_name_page
-- params: 1 2 3 4
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ? and name < ?
order by name, id
limit ? offset ?

-- name: search_foods_by_name_after
-- params: 1 2 4 4 5 3
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ? and name < ? and name >= ? and (name > ? or id > ?)
order by name, id
limit ?

-- name: search_foods_by_kcal_page
-- params: 1 2 3 4
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ? and name < ?
order by kcal, id
limit ? offset ?

-- name: search_foods_by_kcal_after
-- params: 1 2 4 4 5 3
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= ? and name < ? and kcal >= ? and (kcal > ? or id > ?)
order by kcal, id
limit ?

-- name: count_foods
-- params:
select count(*)
from food

-- name: count_category_foods
-- params: 1
select count(*)
from food
where category = ?

-- name: count_search_foods
-- params: 1 2
select count(*)
from food
where name >= ? and name < ?

-- name: insert_food
-- params: 1 2 3 4 5 6 7 8 9
insert ignore into food (id, category, name, kcal, protein, fat, carbs, fibre, price, version)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)

-- name: insert_foods
-- params: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134 135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161 162 163 164 165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188 189 190 191 192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215 216 217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 259 260 261 262 263 264 265 266 267 268 269 270 271 272 273 274 275 276 277 278 279 280 281 282 283 284 285 286 287 288 289 290 291 292 293 294 295 296 297 298 299 300 301 302 303 304 305 306 307 308 309 310 311 312 313 314 315 316 317 318 319 320 321 322 323 324 325 326 327 328 329 330 331 332 333 334 335 336 337 338 339 340 341 342 343 344 345 346 347 348 349 350 351 352 353 354 355 356 357 358 359 360 361 362 363 364 365 366 367 368 369 370 371 372 373 374 375 376 377 378 379 380 381 382 383 384 385 386 387 388 389 390 391 392 393 394 395 396 397 398 399 400 401 402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417 418 419 420 421 422 423 424 425 426 427 428 429 430 431 432 433 434 435 436 437 438 439 440 441 442 443 444 445 446 447 448 449 450
insert ignore into food (id, category, name, kcal, protein, fat, carbs, fibre, price, version)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1), (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)

-- name: update_food
-- params: 3 4 5 6 7 8 9 1 2
update food
set name = ?, kcal = ?, protein = ?, fat = ?, carbs = ?, fibre = ?, price = ?, version = version + 1
where id = ? and version = ?

-- name: lock_food
-- params: 1
select version
from food
where id = ?
for update

-- name: item_of_food
-- params: 1
select 1
from template_item
where food = ?
limit 1

-- name: delete_food
-- params: 1
delete from food
where id = ?

-- name: template_full
-- params: 1
select template.name, d.day, m.meal, coalesce(m.name, ''), f.id, coalesce(f.name, ''), coalesce(f.kcal, 0), coalesce(i.grams, 0)
from template
left join template_day as d on d.template = template.id
left join template_meal as m on m.template = d.template and m.day = d.day
left join template_item as i on i.template = m.template and i.day = m.day and i.meal = m.meal
left join food as f on f.id = i.food
where template.id = ?
order by d.day, m.meal, i.item

-- name: template
-- params: 1
select name
from template
where id = ?

-- name: template_days
-- params: 1
select day
from template_day
where template = ?
order by day

-- name: template_meals
-- params: 1
select day, meal, name
from template_meal
where template = ?
order by day, meal

-- name: template_items
-- params: 1
select i.day, i.meal, f.id, f.name, f.kcal, i.grams
from template_item as i
join food as f on f.id = i.food
where i.template = ?
order by i.day, i.meal, i.item

-- name: meals_of_day
-- params: 1 2
select meal, name
from template_meal
where template = ? and day = ?
order by meal

-- name: items_of_meal
-- params: 1 2 3
select food, grams
from template_item
where template = ? and day = ? and meal = ?
order by item

-- name: food_of_item
-- params: 1
select name, kcal
from food
where id = ?

-- The statements of spec/sql/catalogue as postgres takes them. Made from there, not by hand: see servers/README.md.

-- name: categories
-- params:
select id, name, version
from category
order by id

-- name: category
-- params: 1
select id, name, version
from category
where id = $1

-- name: insert_category
-- params: 1 2
insert into category (id, name, version)
values ($1, $2, 1)
on conflict (id) do nothing

-- name: update_category
-- params: 1 2 3
update category
set name = $3, version = version + 1
where id = $1 and version = $2::bigint

-- name: lock_category
-- params: 1
select version
from category
where id = $1
for update

-- name: hold_category
-- params: 1
select 1
from category
where id = $1
for key share

-- name: food_of_category
-- params: 1
select 1
from food
where category = $1
limit 1

-- name: delete_category
-- params: 1
delete from category
where id = $1

-- name: food
-- params: 1
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where id = $1

-- name: foods_by_name_page
-- params: 1 2
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
order by name, id
limit $1 offset $2

-- name: foods_by_name_after
-- params: 1 2 3
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where (name, id) > ($2, $3)
order by name, id
limit $1

-- name: foods_by_kcal_page
-- params: 1 2
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
order by kcal, id
limit $1 offset $2

-- name: foods_by_kcal_after
-- params: 1 2 3
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where (kcal, id) > ($2, $3)
order by kcal, id
limit $1

-- name: category_foods_by_name_page
-- params: 1 2 3
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = $1
order by name, id
limit $2 offset $3

-- name: category_foods_by_name_after
-- params: 1 2 3 4
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = $1 and (name, id) > ($3, $4)
order by name, id
limit $2

-- name: category_foods_by_kcal_page
-- params: 1 2 3
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = $1
order by kcal, id
limit $2 offset $3

-- name: category_foods_by_kcal_after
-- params: 1 2 3 4
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where category = $1 and (kcal, id) > ($3, $4)
order by kcal, id
limit $2

-- name: search_foods_by_name_page
-- params: 1 2 3 4
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= $1 and name < $2
order by name, id
limit $3 offset $4

-- name: search_foods_by_name_after
-- params: 1 2 3 4 5
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= $1 and name < $2 and (name, id) > ($4, $5)
order by name, id
limit $3

-- name: search_foods_by_kcal_page
-- params: 1 2 3 4
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= $1 and name < $2
order by kcal, id
limit $3 offset $4

-- name: search_foods_by_kcal_after
-- params: 1 2 3 4 5
select id, category, name, kcal, protein, fat, carbs, fibre, price, version
from food
where name >= $1 and name < $2 and (kcal, id) > ($4, $5)
order by kcal, id
limit $3

-- name: count_foods
-- params:
select count(*)
from food

-- name: count_category_foods
-- params: 1
select count(*)
from food
where category = $1

-- name: count_search_foods
-- params: 1 2
select count(*)
from food
where name >= $1 and name < $2

-- name: insert_food
-- params: 1 2 3 4 5 6 7 8 9
insert into food (id, category, name, kcal, protein, fat, carbs, fibre, price, version)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1)
on conflict (id) do nothing

-- name: insert_foods
-- params: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134 135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161 162 163 164 165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188 189 190 191 192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215 216 217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 259 260 261 262 263 264 265 266 267 268 269 270 271 272 273 274 275 276 277 278 279 280 281 282 283 284 285 286 287 288 289 290 291 292 293 294 295 296 297 298 299 300 301 302 303 304 305 306 307 308 309 310 311 312 313 314 315 316 317 318 319 320 321 322 323 324 325 326 327 328 329 330 331 332 333 334 335 336 337 338 339 340 341 342 343 344 345 346 347 348 349 350 351 352 353 354 355 356 357 358 359 360 361 362 363 364 365 366 367 368 369 370 371 372 373 374 375 376 377 378 379 380 381 382 383 384 385 386 387 388 389 390 391 392 393 394 395 396 397 398 399 400 401 402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417 418 419 420 421 422 423 424 425 426 427 428 429 430 431 432 433 434 435 436 437 438 439 440 441 442 443 444 445 446 447 448 449 450
insert into food (id, category, name, kcal, protein, fat, carbs, fibre, price, version)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1), ($10, $11, $12, $13, $14, $15, $16, $17, $18, 1), ($19, $20, $21, $22, $23, $24, $25, $26, $27, 1), ($28, $29, $30, $31, $32, $33, $34, $35, $36, 1), ($37, $38, $39, $40, $41, $42, $43, $44, $45, 1), ($46, $47, $48, $49, $50, $51, $52, $53, $54, 1), ($55, $56, $57, $58, $59, $60, $61, $62, $63, 1), ($64, $65, $66, $67, $68, $69, $70, $71, $72, 1), ($73, $74, $75, $76, $77, $78, $79, $80, $81, 1), ($82, $83, $84, $85, $86, $87, $88, $89, $90, 1), ($91, $92, $93, $94, $95, $96, $97, $98, $99, 1), ($100, $101, $102, $103, $104, $105, $106, $107, $108, 1), ($109, $110, $111, $112, $113, $114, $115, $116, $117, 1), ($118, $119, $120, $121, $122, $123, $124, $125, $126, 1), ($127, $128, $129, $130, $131, $132, $133, $134, $135, 1), ($136, $137, $138, $139, $140, $141, $142, $143, $144, 1), ($145, $146, $147, $148, $149, $150, $151, $152, $153, 1), ($154, $155, $156, $157, $158, $159, $160, $161, $162, 1), ($163, $164, $165, $166, $167, $168, $169, $170, $171, 1), ($172, $173, $174, $175, $176, $177, $178, $179, $180, 1), ($181, $182, $183, $184, $185, $186, $187, $188, $189, 1), ($190, $191, $192, $193, $194, $195, $196, $197, $198, 1), ($199, $200, $201, $202, $203, $204, $205, $206, $207, 1), ($208, $209, $210, $211, $212, $213, $214, $215, $216, 1), ($217, $218, $219, $220, $221, $222, $223, $224, $225, 1), ($226, $227, $228, $229, $230, $231, $232, $233, $234, 1), ($235, $236, $237, $238, $239, $240, $241, $242, $243, 1), ($244, $245, $246, $247, $248, $249, $250, $251, $252, 1), ($253, $254, $255, $256, $257, $258, $259, $260, $261, 1), ($262, $263, $264, $265, $266, $267, $268, $269, $270, 1), ($271, $272, $273, $274, $275, $276, $277, $278, $279, 1), ($280, $281, $282, $283, $284, $285, $286, $287, $288, 1), ($289, $290, $291, $292, $293, $294, $295, $296, $297, 1), ($298, $299, $300, $301, $302, $303, $304, $305, $306, 1), ($307, $308, $309, $310, $311, $312, $313, $314, $315, 1), ($316, $317, $318, $319, $320, $321, $322, $323, $324, 1), ($325, $326, $327, $328, $329, $330, $331, $332, $333, 1), ($334, $335, $336, $337, $338, $339, $340, $341, $342, 1), ($343, $344, $345, $346, $347, $348, $349, $350, $351, 1), ($352, $353, $354, $355, $356, $357, $358, $359, $360, 1), ($361, $362, $363, $364, $365, $366, $367, $368, $369, 1), ($370, $371, $372, $373, $374, $375, $376, $377, $378, 1), ($379, $380, $381, $382, $383, $384, $385, $386, $387, 1), ($388, $389, $390, $391, $392, $393, $394, $395, $396, 1), ($397, $398, $399, $400, $401, $402, $403, $404, $405, 1), ($406, $407, $408, $409, $410, $411, $412, $413, $414, 1), ($415, $416, $417, $418, $419, $420, $421, $422, $423, 1), ($424, $425, $426, $427, $428, $429, $430, $431, $432, 1), ($433, $434, $435, $436, $437, $438, $439, $440, $441, 1), ($442, $443, $444, $445, $446, $447, $448, $449, $450, 1)
on conflict (id) do nothing

-- name: update_food
-- params: 1 2 3 4 5 6 7 8 9
update food
set name = $3, kcal = $4, protein = $5, fat = $6, carbs = $7, fibre = $8, price = $9, version = version + 1
where id = $1 and version = $2::bigint

-- name: lock_food
-- params: 1
select version
from food
where id = $1
for update

-- name: item_of_food
-- params: 1
select 1
from template_item
where food = $1
limit 1

-- name: delete_food
-- params: 1
delete from food
where id = $1

-- name: template_full
-- params: 1
select template.name, d.day, m.meal, coalesce(m.name, ''), f.id, coalesce(f.name, ''), coalesce(f.kcal, 0), coalesce(i.grams, 0)
from template
left join template_day as d on d.template = template.id
left join template_meal as m on m.template = d.template and m.day = d.day
left join template_item as i on i.template = m.template and i.day = m.day and i.meal = m.meal
left join food as f on f.id = i.food
where template.id = $1
order by d.day, m.meal, i.item

-- name: template
-- params: 1
select name
from template
where id = $1

-- name: template_days
-- params: 1
select day
from template_day
where template = $1
order by day

-- name: template_meals
-- params: 1
select day, meal, name
from template_meal
where template = $1
order by day, meal

-- name: template_items
-- params: 1
select i.day, i.meal, f.id, f.name, f.kcal, i.grams
from template_item as i
join food as f on f.id = i.food
where i.template = $1
order by i.day, i.meal, i.item

-- name: meals_of_day
-- params: 1 2
select meal, name
from template_meal
where template = $1 and day = $2
order by meal

-- name: items_of_meal
-- params: 1 2 3
select food, grams
from template_item
where template = $1 and day = $2 and meal = $3
order by item

-- name: food_of_item
-- params: 1
select name, kcal
from food
where id = $1

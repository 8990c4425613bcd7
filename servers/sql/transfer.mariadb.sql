-- The statements of spec/sql/transfer as mariadb takes them. Made from there, not by hand: see servers/README.md.

-- name: lock_accounts
-- params: 1 2
select id, balance
from account
where id in (?, ?)
order by id
for update

-- name: insert_transfer
-- params: 1 2 3 4 5 6 7 8
insert ignore into transfer (run, worker, sequence, source, target, amount, state, balance, created)
values (?, ?, ?, ?, ?, ?, ?, ?, cast(unix_timestamp(sysdate(6)) * 1000000 as signed))

-- name: move_money
-- params: 1 3 3 1 2
update account
set balance = case when id = ? then balance - ? else balance + ? end
where id in (?, ?)

-- name: insert_entries
-- params: 1 2 3 4 4 6 1 2 3 4 5 7
insert ignore into entry (run, worker, sequence, source, account, amount)
values (?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?)

-- name: read_transfer
-- params: 1 2 3 4
select target, amount, state, balance
from transfer
where run = ? and worker = ? and sequence = ? and source = ?

-- name: read_account
-- params: 1
select balance
from account
where id = ?

-- name: lock_account
-- params: 1
select balance
from account
where id = ?
for update

-- name: add_money
-- params: 2 1
update account
set balance = balance + ?
where id = ?

-- name: insert_entry
-- params: 1 2 3 4 5 6
insert ignore into entry (run, worker, sequence, source, account, amount)
values (?, ?, ?, ?, ?, ?)

-- name: insert_message
-- params: 1 2 3 4 5 6
insert into outbox (created, run, worker, sequence, source, target, amount)
values (cast(unix_timestamp(sysdate(6)) * 1000000 as signed), ?, ?, ?, ?, ?, ?)

-- name: insert_decision
-- params: 1 2 3 4 5
insert ignore into decision (run, worker, sequence, source, target)
values (?, ?, ?, ?, ?)

-- name: read_outbox
-- params: 1 2 3
select created, run, worker, sequence, source, target, amount
from outbox
where target between ? and ?
order by created, run, worker, sequence, source
limit ?

-- name: insert_inbox
-- params: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134 135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161 162 163 164 165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188 189 190 191 192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215 216 217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 259 260 261 262 263 264 265 266 267 268 269 270 271 272 273 274 275 276 277 278 279 280 281 282 283 284 285 286 287 288 289 290 291 292 293 294 295 296 297 298 299 300 301 302 303 304 305 306 307 308 309 310 311 312 313 314 315 316 317 318 319 320 321 322 323 324 325 326 327 328 329 330 331 332 333 334 335 336 337 338 339 340 341 342 343 344 345 346 347 348 349 350 351 352 353 354 355 356 357 358 359 360 361 362 363 364 365 366 367 368 369 370 371 372 373 374 375 376 377 378 379 380 381 382 383 384 385 386 387 388 389 390 391 392 393 394 395 396 397 398 399 400 401 402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417 418 419 420 421 422 423 424 425 426 427 428 429 430 431 432 433 434 435 436 437 438 439 440 441 442 443 444 445 446 447 448
insert ignore into inbox (run, worker, sequence, source, target, amount, state, batch)
values (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?), (?, ?, ?, ?, ?, ?, 1, ?)

-- name: lock_targets
-- params: 1
select id
from account
where id in (select target from inbox where batch = ?)
order by id
for update

-- name: refuse_credits
-- params: 1
update inbox
set state = 2
where batch = ? and not exists (select 1 from account where account.id = inbox.target)

-- name: credit_accounts
-- params: 1
update account
join (
  select target, cast(sum(amount) as signed) as amount from inbox where batch = ? and state = 1 group by target
) as given on given.target = account.id
set account.balance = account.balance + given.amount

-- name: insert_credits
-- params: 1
insert into entry (run, worker, sequence, source, account, amount)
select run, worker, sequence, source, target, amount
from inbox
where batch = ? and state = 1

-- name: read_inbox
-- params: 1 2 3 4
select state
from inbox
where run = ? and worker = ? and sequence = ? and source = ?

-- name: insert_settlement
-- params: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79 80 81 82 83 84 85 86 87 88 89 90 91 92 93 94 95 96 97 98 99 100 101 102 103 104 105 106 107 108 109 110 111 112 113 114 115 116 117 118 119 120 121 122 123 124 125 126 127 128 129 130 131 132 133 134 135 136 137 138 139 140 141 142 143 144 145 146 147 148 149 150 151 152 153 154 155 156 157 158 159 160 161 162 163 164 165 166 167 168 169 170 171 172 173 174 175 176 177 178 179 180 181 182 183 184 185 186 187 188 189 190 191 192 193 194 195 196 197 198 199 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215 216 217 218 219 220 221 222 223 224 225 226 227 228 229 230 231 232 233 234 235 236 237 238 239 240 241 242 243 244 245 246 247 248 249 250 251 252 253 254 255 256 257 258 259 260 261 262 263 264 265 266 267 268 269 270 271 272 273 274 275 276 277 278 279 280 281 282 283 284 285 286 287 288 289 290 291 292 293 294 295 296 297 298 299 300 301 302 303 304 305 306 307 308 309 310 311 312 313 314 315 316 317 318 319 320 321 322 323 324 325 326 327 328 329 330 331 332 333 334 335 336 337 338 339 340 341 342 343 344 345 346 347 348 349 350 351 352 353 354 355 356 357 358 359 360 361 362 363 364 365 366 367 368 369 370 371 372 373 374 375 376 377 378 379 380 381 382 383 384 385 386 387 388 389 390 391 392 393 394 395 396 397 398 399 400 401 402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417 418 419 420 421 422 423 424 425 426 427 428 429 430 431 432 433 434 435 436 437 438 439 440 441 442 443 444 445 446 447 448
insert ignore into settlement (batch, created, run, worker, sequence, source, state)
values (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?), (?, ?, ?, ?, ?, ?, ?)

-- name: settle_transfers
-- params: 1
update settlement
join transfer using (run, worker, sequence, source)
set transfer.state = 4, transfer.settled = cast(unix_timestamp(sysdate(6)) * 1000000 as signed)
where settlement.batch = ? and settlement.state = 4 and transfer.state = 3

-- name: refund_transfer
-- params: 1 2 3 4
update transfer
set state = 5, settled = cast(unix_timestamp(sysdate(6)) * 1000000 as signed)
where run = ? and worker = ? and sequence = ? and source = ? and state = 3

-- name: refund_account
-- params: 2 1
update account
set balance = balance + ?
where id = ?

-- name: insert_refund
-- params: 1 2 3 4 4 5
insert into entry (run, worker, sequence, source, account, amount)
values (?, ?, ?, ?, ?, ?)

-- name: delete_messages
-- params: 1
delete outbox
from settlement
join outbox using (created, run, worker, sequence, source)
where settlement.batch = ?

-- name: delete_settlement
-- params: 1
delete from settlement
where batch = ?

package transfer

import (
	"net/http"
	"strconv"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/web"
)

// What has become of a transfer, as it is stored.
const (
	completed = iota + 1
	declined
	pending
	settled
	refunded
)

// stateNames are as answers have them: whether money arrived at once or later nobody asks.
var stateNames = [...]string{completed: "completed", declined: "declined", pending: "pending", settled: "completed", refunded: "refunded"}

// Why calls are declined.
var (
	keyReused      = because(422, "key-reused", "the key was used for another transfer from this account")
	noSuchTransfer = because(404, "no-such-transfer", "there is no such transfer")
)

func because(status int, kind, title string) *web.Problem {
	problem := web.Declined(status, kind, title)
	problem.Detail = "the call was declined, and moved nothing"
	return problem
}

// insufficient is the answer of a source that holds less than was asked for.
func insufficient(balance int64) *web.Problem {
	problem := because(409, "insufficient-funds", "the account holds less than that")
	problem.Remaining, problem.RemainingField = &balance, "balance"
	return problem
}

// said is an answer that says no, behind a transaction that ends as any other does: what it has kept stays.
func said(a *web.Answer, why *web.Problem) (bool, error) {
	_, err := a.Decline(why)
	return true, err
}

// transfer is one within a store. Whether there is money for it is known before anything is written; whether the key is new, when
// it is.
func transfer(s *engine.Session, a *web.Answer, of *asked) (bool, error) {
	var held [2]*int64
	_, err := s.Rows(stmtLockAccounts, func(row engine.Row) {
		balance := row.Int(1)
		if row.Int(0) == of.source {
			held[0] = &balance
		} else {
			held[1] = &balance
		}
	}, of.source, of.target)
	switch {
	case err != nil:
		return false, err
	case held[1] == nil:
		return false, engine.Defective("there is no account %d", of.target)
	case held[0] == nil:
		return false, engine.Defective("there is no account %d", of.source)
	}
	state, balance := kept(of, *held[0], completed)
	if isNew, err := insert(s, of, state, balance); err != nil || !isNew {
		return repeated(s, a, of, err)
	}
	if state == completed {
		moved, err := s.Exec(stmtMoveMoney, of.source, of.target, of.amount)
		if err != nil {
			return false, err
		}
		if moved != 2 {
			return false, engine.Defective("an account that was locked is not there any more")
		}
		entries, err := s.Exec(stmtInsertEntries, of.key.Run, of.key.Worker, of.key.Sequence, of.source, of.target, -of.amount, of.amount)
		if err != nil {
			return false, err
		}
		if entries != 2 {
			return false, expired()
		}
	}
	return first(a, state, balance)
}

// promise is the source's part of a transfer to another store, with a message to that: a relay does the rest.
func promise(s *engine.Session, a *web.Answer, of *asked) (bool, error) {
	held := int64(0)
	there, err := s.One(stmtLockAccount, func(row engine.Row) { held = row.Int(0) }, of.source)
	switch {
	case err != nil:
		return false, err
	case !there:
		return false, engine.Defective("there is no account %d", of.source)
	}
	state, balance := kept(of, held, pending)
	if isNew, err := insert(s, of, state, balance); err != nil || !isNew {
		return repeated(s, a, of, err)
	}
	if state == pending {
		if _, err := s.Exec(stmtAddMoney, of.source, -of.amount); err != nil {
			return false, err
		}
		entries, err := s.Exec(stmtInsertEntry, of.key.Run, of.key.Worker, of.key.Sequence, of.source, of.source, -of.amount)
		if err != nil {
			return false, err
		}
		if entries != 1 {
			return false, expired()
		}
		if _, err := s.Exec(stmtInsertMessage, of.key.Run, of.key.Worker, of.key.Sequence, of.source, of.target, of.amount); err != nil {
			return false, err
		}
	}
	return first(a, state, balance)
}

// expired says that the ledger, which is never forgotten, has a transfer whose key is.
func expired() error {
	return engine.NotThere("the key of this transfer has expired; it was made, and is not made again")
}

// kept is what becomes of a transfer whose source holds so much, and what it holds then.
func kept(of *asked, held int64, state int64) (int64, int64) {
	if held < of.amount {
		return declined, held
	}
	return state, held - of.amount
}

// insert writes a transfer down, unless its key is there already.
func insert(s *engine.Session, of *asked, state, balance int64) (bool, error) {
	inserted, err := s.Exec(stmtInsertTransfer, of.key.Run, of.key.Worker, of.key.Sequence, of.source, of.target, of.amount, state, balance)
	return inserted == 1, err
}

// repeated answers a key that is there already, unless there was an error, as it was answered at first.
func repeated(s *engine.Session, a *web.Answer, of *asked, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	var target, amount, state, balance int64
	there, err := s.One(stmtReadTransfer, func(row engine.Row) {
		target, amount, state, balance = row.Int(0), row.Int(1), row.Int(2), row.Int(3)
	}, of.key.Run, of.key.Worker, of.key.Sequence, of.source)
	switch {
	case err != nil:
		return false, err
	case !there:
		return false, engine.Defective("a key is there already, and its transfer is not")
	case target != of.target || amount != of.amount:
		return said(a, keyReused)
	case state == settled || state == refunded:
		state = pending
	}
	return first(a, state, balance)
}

// first is the first answer to a key. That a transfer was declined is kept too.
func first(a *web.Answer, state, balance int64) (bool, error) {
	if state == declined {
		return said(a, insufficient(balance))
	}
	a.Status = http.StatusCreated
	a.Body = append(append(append(a.Body, `{"state":"`...), stateNames[state]...), `","balance":`...)
	a.Body = append(strconv.AppendInt(a.Body, balance, 10), '}')
	return true, nil
}

func readTransfer(s *engine.Session, a *web.Answer, source int64, key web.Key) (bool, error) {
	unknown := int64(0)
	there, err := s.One(stmtReadTransfer, func(row engine.Row) {
		a.Body = strconv.AppendInt(append(a.Body, `{"target":`...), row.Int(0), 10)
		a.Body = strconv.AppendInt(append(a.Body, `,"amount":`...), row.Int(1), 10)
		state := row.Int(2)
		if state < completed || state > refunded {
			unknown = state
			return
		}
		a.Body = append(append(append(a.Body, `,"state":"`...), stateNames[state]...), `"}`...)
	}, key.Run, key.Worker, key.Sequence, source)
	switch {
	case err != nil:
		return false, err
	case unknown != 0:
		return false, engine.Defective("a transfer has the state %d, which there is not", unknown)
	case !there:
		return said(a, noSuchTransfer)
	}
	return true, nil
}

func readAccount(s *engine.Session, a *web.Answer, id int64) (bool, error) {
	there, err := s.One(stmtReadAccount, func(row engine.Row) {
		a.Body = append(strconv.AppendInt(append(a.Body, `{"balance":`...), row.Int(0), 10), '}')
	}, id)
	if err == nil && !there {
		return false, engine.Defective("there is no account %d", id)
	}
	return true, err
}

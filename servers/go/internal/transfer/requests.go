package transfer

import (
	"fmt"
	"math"
	"strings"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/strictjson"
	"stackmark/net-http/internal/web"
)

const amountMax = 10_000_000_000

// asked is a transfer as a client asks for it.
type asked struct {
	key                    web.Key
	source, target, amount int64
}

var askedShape = &strictjson.Shape{Names: []string{"source", "target", "amount"}, Required: 3}

// Routes are the calls of the contract.
func (s *Stores) Routes() []web.Route {
	return []web.Route{
		{Method: "POST", Path: "/transfers", Decode: s.decodeTransfer},
		{Method: "GET", Path: "/transfers/{id}", Decode: s.decodeReadTransfer},
		{Method: "GET", Path: "/accounts/{id}", Decode: s.decodeReadAccount},
	}
}

func (s *Stores) decodeTransfer(r *web.Request) (web.Call, *web.Problem) {
	key, problem := web.KeyOf(r.Header, "transfer")
	if problem != nil {
		return web.Call{}, problem
	}
	of := &asked{key: key}
	json := strictjson.New(r.Body)
	json.Object(askedShape, func(at int) {
		switch at {
		case 0:
			of.source = json.Int(0, math.MaxUint32)
		case 1:
			of.target = json.Int(0, math.MaxUint32)
		default:
			of.amount = json.Int(math.MinInt64, math.MaxInt64)
		}
	})
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	if problem := s.account("source", of.source); problem != nil {
		return web.Call{}, problem
	}
	if problem := s.account("target", of.target); problem != nil {
		return web.Call{}, problem
	}
	switch {
	case of.source == of.target:
		return web.Call{}, web.Invalid(fmt.Sprintf("source and target are both %d; they must differ", of.source))
	case of.amount < 1 || of.amount > amountMax:
		return web.Call{}, web.Invalid(fmt.Sprintf("amount is %d; it runs from 1 to %d", of.amount, int64(amountMax)))
	}
	from, to := s.of(of.source), s.of(of.target)
	run := transfer
	if from != to {
		run = promise
	}
	return web.Call{Store: from, Kind: engine.Write, Run: func(session *engine.Session, a *web.Answer) (bool, error) {
		return run(session, a, of)
	}}, nil
}

func (s *Stores) decodeReadTransfer(r *web.Request) (web.Call, *web.Problem) {
	text, digits, _ := strings.Cut(r.ID, "-")
	source, isNumber := web.Number(text)
	key, isKey := web.ParseKey(digits)
	if !isNumber || !isKey {
		return web.Call{}, web.UnknownID("the id in the path is not that of an answer: the source, a hyphen and the key")
	}
	return web.Call{Store: s.of(source), Kind: engine.OneRead, Run: func(session *engine.Session, a *web.Answer) (bool, error) {
		return readTransfer(session, a, source, key)
	}}, nil
}

func (s *Stores) decodeReadAccount(r *web.Request) (web.Call, *web.Problem) {
	id, isNumber := web.Number(r.ID)
	if !isNumber {
		return web.Call{}, web.UnknownID("the id in the path is not the number of an account")
	}
	if problem := s.account("the id in the path", id); problem != nil {
		return web.Call{}, problem
	}
	return web.Call{Store: s.of(id), Kind: engine.OneRead, Run: func(session *engine.Session, a *web.Answer) (bool, error) {
		return readAccount(session, a, id)
	}}, nil
}

// account says where a number is not that of an account.
func (s *Stores) account(name string, id int64) *web.Problem {
	if id >= 1 && id <= s.last() {
		return nil
	}
	return web.UnknownID(fmt.Sprintf("%s %d does not exist; accounts run from 1 to %d", name, id, s.last()))
}

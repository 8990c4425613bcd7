package transfer

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/strictjson"
	"stackmark/net-http/internal/web"
)

const amountMax = 10_000_000_000

// key is what makes a call one that was made before: a run, a worker in it, and a number that counts up.
type key struct{ run, worker, sequence int64 }

// asked is a transfer as a client asks for it.
type asked struct {
	key                    key
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
	key, problem := keyOf(r.Header)
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
	source, isNumber := number(text)
	key, isKey := parseKey(digits)
	if !isNumber || !isKey {
		return web.Call{}, web.UnknownID("the id in the path is not that of an answer: the source, a hyphen and the key")
	}
	return web.Call{Store: s.of(source), Kind: engine.OneRead, Run: func(session *engine.Session, a *web.Answer) (bool, error) {
		return readTransfer(session, a, source, key)
	}}, nil
}

func (s *Stores) decodeReadAccount(r *web.Request) (web.Call, *web.Problem) {
	id, isNumber := number(r.ID)
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

func keyOf(header http.Header) (key, *web.Problem) {
	values := header["Idempotency-Key"]
	if len(values) == 0 {
		return key{}, web.Invalid("idempotency-key is missing; it is 32 digits of 0-9 and a-f, another for each transfer")
	}
	if key, is := parseKey(values[0]); is && len(values) == 1 {
		return key, nil
	}
	return key{}, web.Invalid("idempotency-key is not 32 digits of 0-9 and a-f")
}

// parseKey reads 32 lower-case hexadecimal digits.
func parseKey(text string) (key, bool) {
	if len(text) != 32 || strings.Trim(text, "0123456789abcdef") != "" {
		return key{}, false
	}
	run, _ := strconv.ParseUint(text[:16], 16, 64)
	rest, _ := strconv.ParseUint(text[16:], 16, 64)
	// Stored as the signed number of the same bits.
	return key{run: int64(run), worker: int64(rest >> 32), sequence: int64(rest & math.MaxUint32)}, true
}

// number reads digits without a sign and without zeros before them.
func number(text string) (int64, bool) {
	if text == "" || text[0] == '0' || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	value, err := strconv.ParseUint(text, 10, 32)
	return int64(value), err == nil
}

package booking

import (
	"fmt"
	"math"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/strictjson"
	"stackmark/net-http/internal/web"
)

const (
	userMax     = 999_999_999
	quantityMax = 10
)

// asked is a booking as a client asks for it.
type asked struct {
	key                   web.Key
	event, user, quantity int64
}

var askedShape = &strictjson.Shape{Names: []string{"event", "user", "quantity"}, Required: 3}

// Office sells the tickets of events.
type Office struct {
	events int64
	// announces whether each booking leaves a row in the outbox.
	announces bool
}

// NewOffice is one for so many events.
func NewOffice(events int64, announces bool) *Office {
	return &Office{events: events, announces: announces}
}

// Routes are the calls of the contract.
func (o *Office) Routes() []web.Route {
	return []web.Route{
		{Method: "POST", Path: "/bookings", Decode: o.decodeBook},
		{Method: "GET", Path: "/bookings/{id}", Decode: o.decodeReadBooking},
		{Method: "GET", Path: "/events/{id}", Decode: o.decodeReadEvent},
	}
}

func (o *Office) decodeBook(r *web.Request) (web.Call, *web.Problem) {
	key, problem := web.KeyOf(r.Header, "booking")
	if problem != nil {
		return web.Call{}, problem
	}
	of := &asked{key: key}
	json := strictjson.New(r.Body)
	json.Object(askedShape, func(at int) {
		number := json.Int(0, math.MaxUint32)
		switch at {
		case 0:
			of.event = number
		case 1:
			of.user = number
		default:
			of.quantity = number
		}
	})
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	if problem := o.event("event", of.event); problem != nil {
		return web.Call{}, problem
	}
	switch {
	case of.user < 1 || of.user > userMax:
		return web.Call{}, web.Invalid(fmt.Sprintf("user is %d; it runs from 1 to %d", of.user, userMax))
	case of.quantity < 1 || of.quantity > quantityMax:
		return web.Call{}, web.Invalid(fmt.Sprintf("quantity is %d; it runs from 1 to %d", of.quantity, quantityMax))
	}
	return web.Call{Kind: engine.Steps, Run: func(session *engine.Session, a *web.Answer) (bool, error) {
		return true, o.book(session, a, of)
	}}, nil
}

func (o *Office) decodeReadBooking(r *web.Request) (web.Call, *web.Problem) {
	key, isKey := web.ParseKey(r.ID)
	if !isKey {
		return web.Call{}, web.UnknownID("the id in the path is not a key: 32 digits of 0-9 and a-f")
	}
	return web.Call{Kind: engine.OneRead, Run: func(session *engine.Session, a *web.Answer) (bool, error) {
		return readBooking(session, a, key)
	}}, nil
}

func (o *Office) decodeReadEvent(r *web.Request) (web.Call, *web.Problem) {
	id, isNumber := web.Number(r.ID)
	if !isNumber {
		return web.Call{}, web.UnknownID("the id in the path is not the number of an event")
	}
	if problem := o.event("the id in the path", id); problem != nil {
		return web.Call{}, problem
	}
	return web.Call{Kind: engine.OneRead, Run: func(session *engine.Session, a *web.Answer) (bool, error) {
		return readEvent(session, a, id)
	}}, nil
}

// event says where a number is not that of an event.
func (o *Office) event(name string, id int64) *web.Problem {
	if id >= 1 && id <= o.events {
		return nil
	}
	return web.UnknownID(fmt.Sprintf("%s %d does not exist; events run from 1 to %d", name, id, o.events))
}

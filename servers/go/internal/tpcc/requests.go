// Package tpcc is TPC-C's five transactions: spec/openapi/tpcc.yaml over the statements of spec/sql/tpcc. Numbers in comments
// are clauses of the standard.
package tpcc

import (
	"fmt"
	"math"
	"strings"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/settings"
	"stackmark/net-http/internal/strictjson"
	"stackmark/net-http/internal/web"
)

// Limits of the standard and of the contract.
const (
	districts  = 10
	linesMin   = 5
	linesMax   = 15
	lastMax    = 16
	amountMax  = 1_000_000_000
	quantities = 10
	carriers   = 10
)

// workload is what calls are read and run with.
type workload struct {
	// returning tells whether an update gives back the row that it changed.
	returning  bool
	warehouses int64
	// customers of a district.
	customers int64
}

// Routes are the calls of the contract, on data of which Questions were asked.
func Routes(on settings.Engine, answers []int64) []web.Route {
	w := &workload{returning: on == settings.Postgres, warehouses: answers[0], customers: answers[1]}
	return []web.Route{
		{Method: "POST", Path: "/tpcc/new-order", Decode: w.decodeNewOrder},
		{Method: "POST", Path: "/tpcc/payment", Decode: w.decodePayment},
		{Method: "POST", Path: "/tpcc/order-status", Decode: w.decodeOrderStatus},
		{Method: "POST", Path: "/tpcc/delivery", Decode: w.decodeDelivery},
		{Method: "POST", Path: "/tpcc/stock-level", Decode: w.decodeStockLevel},
	}
}

// Fields of calls. Those that must be there come first.
var (
	newOrderShape    = &strictjson.Shape{Names: []string{"w_id", "d_id", "c_id", "lines"}, Required: 4}
	lineShape        = &strictjson.Shape{Names: []string{"i_id", "supply_w_id", "quantity"}, Required: 3}
	paymentShape     = &strictjson.Shape{Names: []string{"w_id", "d_id", "c_w_id", "c_d_id", "h_amount", "c_id", "c_last"}, Required: 5}
	orderStatusShape = &strictjson.Shape{Names: []string{"w_id", "d_id", "c_id", "c_last"}, Required: 2}
	deliveryShape    = &strictjson.Shape{Names: []string{"w_id", "o_carrier_id"}, Required: 2}
	stockLevelShape  = &strictjson.Shape{Names: []string{"w_id", "d_id", "threshold"}, Required: 3}
)

type line struct{ item, supply, quantity int64 }

type newOrder struct {
	warehouse, district, customer int64
	lines                         []line
}

// who is a customer by number or by last name.
type who struct {
	id             int64
	last           string
	hasID, hasLast bool
}

type payment struct {
	warehouse, district int64
	// The customer's, who may pay at another warehouse.
	customerWarehouse, customerDistrict int64
	who                                 who
	amount                              engine.Cents
}

type orderStatus struct {
	warehouse, district int64
	who                 who
}

// id reads a number that may name something. Whether it does is looked at when all of the call has been read.
func id(json *strictjson.Reader) int64 { return json.Int(0, math.MaxUint32) }

// within says where a number is outside its range, and so names nothing.
func within(name string, number, most int64) *web.Problem {
	if number >= 1 && number <= most {
		return nil
	}
	return web.UnknownID(fmt.Sprintf("%s %d does not exist; it runs from 1 to %d", name, number, most))
}

// first is the first problem there is.
func first(problems ...*web.Problem) *web.Problem {
	for _, problem := range problems {
		if problem != nil {
			return problem
		}
	}
	return nil
}

func (w *workload) home(warehouse, district int64) *web.Problem {
	return first(within("w_id", warehouse, w.warehouses), within("d_id", district, districts))
}

// read reads the one of a customer's two names that is at hand.
func (who *who) read(json *strictjson.Reader, name string) {
	if json.Null() {
		return
	}
	if name == "c_id" {
		who.id, who.hasID = id(json), true
		return
	}
	who.last, who.hasLast = string(json.Text()), true
	if len(who.last) > lastMax {
		json.Invalid("it has more than %d bytes", lastMax)
	}
}

func (w *workload) known(who *who) *web.Problem {
	switch {
	case who.hasID == who.hasLast:
		return web.Invalid("exactly one of c_id and c_last names the customer")
	case who.hasID:
		return within("c_id", who.id, w.customers)
	case strings.IndexByte(who.last, 0) >= 0:
		// PostgreSQL has no texts with it, and would take the call for a defect of ours.
		return web.UnknownID("no customer has this name")
	}
	return nil
}

func (w *workload) decodeNewOrder(r *web.Request) (web.Call, *web.Problem) {
	order := &newOrder{lines: make([]line, 0, linesMax)}
	json := strictjson.New(r.Body)
	json.Object(newOrderShape, func(at int) {
		switch at {
		case 0:
			order.warehouse = id(json)
		case 1:
			order.district = id(json)
		case 2:
			order.customer = id(json)
		case 3:
			json.Array(func(at int) {
				if at == linesMax {
					json.Invalid("there are more than %d", linesMax)
					return
				}
				order.lines = append(order.lines, readLine(json))
			})
		}
	})
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	problem := first(w.home(order.warehouse, order.district), within("c_id", order.customer, w.customers))
	if problem == nil && len(order.lines) < linesMin {
		problem = web.Invalid(fmt.Sprintf("an order has %d to %d lines, not %d", linesMin, linesMax, len(order.lines)))
	}
	for at := 0; at < len(order.lines) && problem == nil; at++ {
		problem = w.fits(&order.lines[at])
	}
	return web.Call{Kind: engine.Write, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		t := transaction{workload: w, session: s}
		return t.newOrder(a, order)
	}}, problem
}

func readLine(json *strictjson.Reader) (line line) {
	json.Object(lineShape, func(at int) {
		switch at {
		case 0:
			line.item = id(json)
		case 1:
			line.supply = id(json)
		case 2:
			line.quantity = id(json)
		}
	})
	return line
}

// fits looks at a line. An unknown item is no bad call: it is the standard's way to ask for a roll-back.
func (w *workload) fits(line *line) *web.Problem {
	if problem := within("supply_w_id", line.supply, w.warehouses); problem != nil {
		return problem
	}
	switch {
	case line.item < 1:
		return web.Invalid("i_id is 0; it begins with 1")
	case line.quantity < 1 || line.quantity > quantities:
		return web.Invalid(fmt.Sprintf("quantity is %d; it runs from 1 to %d", line.quantity, quantities))
	}
	return nil
}

func (w *workload) decodePayment(r *web.Request) (web.Call, *web.Problem) {
	pay := new(payment)
	json := strictjson.New(r.Body)
	json.Object(paymentShape, func(at int) {
		switch name := paymentShape.Names[at]; name {
		case "w_id":
			pay.warehouse = id(json)
		case "d_id":
			pay.district = id(json)
		case "c_w_id":
			pay.customerWarehouse = id(json)
		case "c_d_id":
			pay.customerDistrict = id(json)
		case "h_amount":
			pay.amount = engine.Cents(json.Int(math.MinInt64, math.MaxInt64))
		default:
			pay.who.read(json, name)
		}
	})
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	problem := first(w.known(&pay.who), w.home(pay.warehouse, pay.district),
		within("c_w_id", pay.customerWarehouse, w.warehouses), within("c_d_id", pay.customerDistrict, districts))
	if problem == nil && (pay.amount < 1 || pay.amount > amountMax) {
		problem = web.Invalid(fmt.Sprintf("h_amount is %d; it runs from 1 to %d", pay.amount, amountMax))
	}
	return web.Call{Kind: engine.Write, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		t := transaction{workload: w, session: s}
		return t.payment(a, pay)
	}}, problem
}

func (w *workload) decodeOrderStatus(r *web.Request) (web.Call, *web.Problem) {
	status := new(orderStatus)
	json := strictjson.New(r.Body)
	json.Object(orderStatusShape, func(at int) {
		switch name := orderStatusShape.Names[at]; name {
		case "w_id":
			status.warehouse = id(json)
		case "d_id":
			status.district = id(json)
		default:
			status.who.read(json, name)
		}
	})
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	problem := first(w.home(status.warehouse, status.district), w.known(&status.who))
	return web.Call{Kind: engine.Read, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		t := transaction{workload: w, session: s}
		return t.orderStatus(a, status)
	}}, problem
}

func (w *workload) decodeDelivery(r *web.Request) (web.Call, *web.Problem) {
	var warehouse, carrier int64
	json := strictjson.New(r.Body)
	json.Object(deliveryShape, func(at int) {
		if at == 0 {
			warehouse = id(json)
		} else {
			carrier = id(json)
		}
	})
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	problem := within("w_id", warehouse, w.warehouses)
	if problem == nil && (carrier < 1 || carrier > carriers) {
		problem = web.Invalid(fmt.Sprintf("o_carrier_id is %d; it runs from 1 to %d", carrier, carriers))
	}
	return web.Call{Kind: engine.Write, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		t := transaction{workload: w, session: s}
		return t.delivery(a, warehouse, carrier)
	}}, problem
}

func (w *workload) decodeStockLevel(r *web.Request) (web.Call, *web.Problem) {
	var warehouse, district, threshold int64
	json := strictjson.New(r.Body)
	json.Object(stockLevelShape, func(at int) {
		switch at {
		case 0:
			warehouse = id(json)
		case 1:
			district = id(json)
		case 2:
			threshold = id(json)
		}
	})
	if err := json.End(); err != nil {
		return web.Call{}, web.Unread(err)
	}
	problem := w.home(warehouse, district)
	if problem == nil && (threshold < 10 || threshold > 20) {
		problem = web.Invalid(fmt.Sprintf("threshold is %d; it runs from 10 to 20", threshold))
	}
	return web.Call{Kind: engine.Read, Run: func(s *engine.Session, a *web.Answer) (bool, error) {
		t := transaction{workload: w, session: s}
		return t.stockLevel(a, warehouse, district, threshold)
	}}, problem
}

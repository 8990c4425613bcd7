package tpcc

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/jsontext"
	"stackmark/net-http/internal/web"
)

// terms are what an order is charged by.
type terms struct {
	order, entered                      int64
	discount, warehouseTax, districtTax int64
	last, credit                        string
}

// placedLine is a line of the answer.
type placedLine struct {
	name     string
	price    int64
	quantity int64
	brand    byte
	amount   int64
}

// newOrder is 2.4.2.2.
func (t *transaction) newOrder(a *web.Answer, order *newOrder) (bool, error) {
	terms, err := t.terms(order)
	if err != nil {
		return false, err
	}
	local := int64(1)
	for _, line := range order.lines {
		if line.supply != order.warehouse {
			local = 0
		}
	}
	if err := t.one(stmtInsertOrder, func(row engine.Row) { terms.entered = row.Unix(0) },
		order.warehouse, order.district, terms.order, order.customer, int64(len(order.lines)), local); err != nil {
		return false, err
	}
	if _, err := t.session.Exec(stmtInsertNewOrder, order.warehouse, order.district, terms.order); err != nil {
		return false, err
	}
	var placed [linesMax]placedLine
	amounts := engine.Cents(0)
	for _, at := range workingOrder(order.lines) {
		found, err := t.line(order, terms.order, at, &placed[at])
		switch {
		case err != nil:
			return false, err
		case !found:
			// 2.4.2.3: the item's number is not valid, and everything so far is undone.
			a.Body = append(terms.appendBegin(a.Body, "item-not-valid"), '}')
			return false, nil
		}
		amounts += engine.Cents(placed[at].amount)
	}
	total := orderTotal(amounts, terms.discount, terms.warehouseTax, terms.districtTax)
	a.Body = terms.appendPlaced(a.Body, total, placed[:len(order.lines)])
	return true, nil
}

func (t *transaction) terms(order *newOrder) (*terms, error) {
	terms := new(terms)
	err := t.one(stmtWarehouseTax, func(row engine.Row) { terms.warehouseTax = row.Scaled(0, 4) }, order.warehouse)
	if err != nil {
		return nil, err
	}
	err = t.back(stmtClaimOrderID, stmtReadClaim, func(row engine.Row) {
		terms.order, terms.districtTax = row.Int(0), row.Scaled(1, 4)
	}, order.warehouse, order.district)
	if err != nil {
		return nil, err
	}
	return terms, t.one(stmtCustomerTerms, func(row engine.Row) {
		terms.discount, terms.last, terms.credit = row.Scaled(0, 4), string(row.Text(1)), string(row.Text(2))
	}, order.warehouse, order.district, order.customer)
}

// workingOrder has the places of the lines in the order of their stock's rows, which is the same for all: two orders that want
// the same rows then wait for each other in one direction only, and no deadlock can come of it. An unused number of an item is
// the highest of all, so it still comes last.
func workingOrder(lines []line) []int {
	order := make([]int, len(lines))
	for at := range order {
		order[at] = at
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(lines[a].item, lines[b].item), cmp.Compare(lines[a].supply, lines[b].supply))
	})
	return order
}

var original = []byte("ORIGINAL")

// itemMax is more than any item has, and as much as a column holds: what is asked for beyond is no item either.
const itemMax = math.MaxInt32

// line takes one line from the stock: item, stock, order_line. It says whether there is such an item.
func (t *transaction) line(order *newOrder, number int64, at int, placed *placedLine) (bool, error) {
	line := &order.lines[at]
	itemOriginal := false
	found, err := t.session.One(stmtReadItem, func(row engine.Row) {
		placed.price, placed.name = row.Scaled(0, 2), string(row.Text(1))
		itemOriginal = bytes.Contains(row.Text(2), original)
	}, min(line.item, itemMax))
	if err != nil || !found {
		return false, err
	}
	stock, info := int64(0), ""
	placed.brand = 'G'
	if err := t.one(stmtReadStock, func(row engine.Row) {
		stock, info = row.Int(0), string(row.Text(2))
		if itemOriginal && bytes.Contains(row.Text(1), original) {
			placed.brand = 'B'
		}
	}, line.supply, line.item, order.district); err != nil {
		return false, err
	}
	// 2.4.2.2: refilled by 91 when less than 10 would be left.
	if placed.quantity = stock - line.quantity; placed.quantity < 10 {
		placed.quantity += 91
	}
	remote := int64(0)
	if line.supply != order.warehouse {
		remote = 1
	}
	if _, err := t.session.Exec(stmtUpdateStock, line.supply, line.item, placed.quantity, line.quantity, remote); err != nil {
		return false, err
	}
	placed.amount = placed.price * line.quantity
	_, err = t.session.Exec(stmtInsertOrderLine, order.warehouse, order.district, number, int64(at+1), line.item, line.supply,
		line.quantity, engine.Cents(placed.amount), info)
	return true, err
}

func (t *terms) appendBegin(into []byte, status string) []byte {
	into = append(append(into, `{"status":"`...), status...)
	into = appendInt(into, `","o_id":`, t.order)
	into = appendText(into, `,"c_last":`, t.last)
	return appendText(into, `,"c_credit":`, t.credit)
}

func (t *terms) appendPlaced(into []byte, total engine.Cents, lines []placedLine) []byte {
	into = t.appendBegin(into, "placed")
	into = appendInt(into, `,"o_entry_d":`, t.entered)
	into = appendInt(into, `,"c_discount":`, t.discount)
	into = appendInt(into, `,"w_tax":`, t.warehouseTax)
	into = appendInt(into, `,"d_tax":`, t.districtTax)
	into = appendInt(into, `,"total_amount":`, int64(total))
	into = append(into, `,"lines":[`...)
	for at := range lines {
		line := &lines[at]
		if at > 0 {
			into = append(into, ',')
		}
		into = appendText(into, `{"i_name":`, line.name)
		into = appendInt(into, `,"i_price":`, line.price)
		into = appendInt(into, `,"s_quantity":`, line.quantity)
		into = append(append(append(into, `,"brand_generic":"`...), line.brand), '"')
		into = append(appendInt(into, `,"ol_amount":`, line.amount), '}')
	}
	return append(into, "]}"...)
}

func appendInt(into []byte, name string, number int64) []byte {
	return strconv.AppendInt(append(into, name...), number, 10)
}

func appendText[T string | []byte](into []byte, name string, text T) []byte {
	return jsontext.AppendText(append(into, name...), text)
}

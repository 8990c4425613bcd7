package tpcc

import (
	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/web"
)

// orderStatus is 2.6.2.2.
func (t *transaction) orderStatus(a *web.Answer, status *orderStatus) (bool, error) {
	customer, err := t.identify(status.warehouse, status.district, &status.who)
	if err != nil {
		return false, err
	}
	err = t.one(stmtCustomerStatus, func(row engine.Row) {
		a.Body = appendInt(a.Body, `{"c_id":`, customer)
		a.Body = appendText(a.Body, `,"c_first":`, row.Text(0))
		a.Body = appendText(a.Body, `,"c_middle":`, row.Text(1))
		a.Body = appendText(a.Body, `,"c_last":`, row.Text(2))
		a.Body = appendInt(a.Body, `,"c_balance":`, row.Scaled(3, 2))
	}, status.warehouse, status.district, customer)
	if err != nil {
		return false, err
	}
	order := int64(0)
	err = t.one(stmtNewestOrder, func(row engine.Row) {
		order = row.Int(0)
		a.Body = appendInt(a.Body, `,"o_id":`, order)
		a.Body = appendInt(a.Body, `,"o_entry_d":`, row.Unix(1))
		if row.IsNull(2) {
			a.Body = append(a.Body, `,"o_carrier_id":null`...)
		} else {
			a.Body = appendInt(a.Body, `,"o_carrier_id":`, row.Int(2))
		}
	}, status.warehouse, status.district, customer)
	if err != nil {
		return false, err
	}
	before := `,"lines":[`
	_, err = t.session.Rows(stmtOrderLines, func(row engine.Row) {
		a.Body = appendLine(append(a.Body, before...), row)
		before = ","
	}, status.warehouse, status.district, order)
	if before != "," {
		a.Body = append(a.Body, before...)
	}
	a.Body = append(a.Body, "]}"...)
	return true, err
}

func appendLine(into []byte, row engine.Row) []byte {
	into = appendInt(into, `{"ol_supply_w_id":`, row.Int(1))
	into = appendInt(into, `,"ol_i_id":`, row.Int(0))
	into = appendInt(into, `,"ol_quantity":`, row.Int(2))
	into = appendInt(into, `,"ol_amount":`, row.Scaled(3, 2))
	if row.IsNull(4) {
		return append(into, `,"ol_delivery_d":null}`...)
	}
	return append(appendInt(into, `,"ol_delivery_d":`, row.Unix(4)), '}')
}

// delivery is 2.7.4.2, all ten districts in one transaction.
func (t *transaction) delivery(a *web.Answer, warehouse, carrier int64) (bool, error) {
	before := `{"o_ids":[`
	for district := int64(1); district <= districts; district++ {
		order, err := t.deliver(warehouse, district, carrier)
		if err != nil {
			return false, err
		}
		if order == 0 {
			a.Body = append(append(a.Body, before...), "null"...)
		} else {
			a.Body = appendInt(a.Body, before, order)
		}
		before = ","
	}
	a.Body = append(a.Body, "]}"...)
	return true, nil
}

// deliver delivers the oldest order of a district: 0 where there is none.
func (t *transaction) deliver(warehouse, district, carrier int64) (int64, error) {
	var order, customer, amount int64
	found, err := t.session.One(stmtOldestNewOrder, func(row engine.Row) { order = row.Int(0) }, warehouse, district)
	if err != nil || !found {
		return 0, err
	}
	taken, err := t.session.Exec(stmtDeleteNewOrder, warehouse, district, order)
	switch {
	case err != nil:
		return 0, err
	case taken == 0:
		// Another Delivery has taken it since we looked. All of this one is done anew, on what is there now.
		return 0, engine.Serialization
	}
	err = t.back(stmtCarryOrder, stmtReadCarried, func(row engine.Row) { customer = row.Int(0) },
		warehouse, district, order, carrier)
	if err != nil {
		return 0, err
	}
	if _, err := t.session.Exec(stmtDeliverLines, warehouse, district, order); err != nil {
		return 0, err
	}
	if err := t.one(stmtSumLines, func(row engine.Row) { amount = row.Scaled(0, 2) }, warehouse, district, order); err != nil {
		return 0, err
	}
	return order, t.changedOne(stmtCreditCustomer, warehouse, district, customer, engine.Cents(amount))
}

// stockLevel is 2.8.2.2.
func (t *transaction) stockLevel(a *web.Answer, warehouse, district, threshold int64) (bool, error) {
	next, low := int64(0), int64(0)
	err := t.one(stmtNextOrderID, func(row engine.Row) { next = row.Int(0) }, warehouse, district)
	if err != nil {
		return false, err
	}
	err = t.one(stmtLowStock, func(row engine.Row) { low = row.Int(0) }, warehouse, district, next, threshold)
	a.Body = append(appendInt(a.Body, `{"low_stock":`, low), '}')
	return true, err
}

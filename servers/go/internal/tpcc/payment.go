package tpcc

import (
	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/web"
)

// shownMax is how much of c_data is shown.
const shownMax = 200

// payment is 2.5.2.2. The parts of the answer come in the order of the statements but for the date, which is the last to be known
// and the first to be said: it is put in front at the end.
func (t *transaction) payment(a *web.Answer, pay *payment) (bool, error) {
	var warehouseName, districtName []byte
	// The addresses as JSON.
	var places []byte
	err := t.back(stmtPayWarehouse, stmtReadPaidWarehouse, func(row engine.Row) {
		warehouseName = append(warehouseName, row.Text(0)...)
		places = appendAddress(append(places, `,"warehouse":`...), row, 1)
	}, pay.warehouse, pay.amount)
	if err != nil {
		return false, err
	}
	err = t.back(stmtPayDistrict, stmtReadPaidDistrict, func(row engine.Row) {
		districtName = append(districtName, row.Text(0)...)
		places = appendAddress(append(places, `,"district":`...), row, 1)
	}, pay.warehouse, pay.district, pay.amount)
	if err != nil {
		return false, err
	}
	customer, err := t.identify(pay.customerWarehouse, pay.customerDistrict, &pay.who)
	if err != nil {
		return false, err
	}
	bad := false
	err = t.one(stmtReadCustomer, func(row engine.Row) {
		bad = string(row.Text(10)) == "BC"
		places = appendCustomer(places, row, customer, pay.amount)
	}, pay.customerWarehouse, pay.customerDistrict, customer)
	if err != nil {
		return false, err
	}
	if places, err = t.charge(places, pay, customer, bad); err != nil {
		return false, err
	}
	// 2.5.2.2: h_data is both names with four spaces between them.
	names := string(append(append(warehouseName, "    "...), districtName...))
	date := int64(0)
	err = t.one(stmtInsertHistory, func(row engine.Row) { date = row.Unix(0) }, pay.customerWarehouse, pay.customerDistrict,
		customer, pay.warehouse, pay.district, pay.amount, names)
	a.Body = append(append(appendInt(a.Body, `{"h_date":`, date), places...), '}')
	return true, err
}

// charge changes the customer, and the data of one with bad credit, of which the beginning is shown.
func (t *transaction) charge(into []byte, pay *payment, customer int64, bad bool) ([]byte, error) {
	if !bad {
		_, err := t.session.Exec(stmtPayCustomer, pay.customerWarehouse, pay.customerDistrict, customer, pay.amount)
		return into, err
	}
	data := ""
	if err := t.one(stmtReadCustomerData, func(row engine.Row) { data = badCreditData(pay, customer, row.Text(0)) },
		pay.customerWarehouse, pay.customerDistrict, customer); err != nil {
		return nil, err
	}
	_, err := t.session.Exec(stmtPayCustomerWithData, pay.customerWarehouse, pay.customerDistrict, customer, pay.amount, data)
	return appendText(into, `,"c_data":`, cut(data, shownMax)), err
}

func appendAddress(into []byte, row engine.Row, column int) []byte {
	into = appendText(into, `{"street_1":`, row.Text(column))
	into = appendText(into, `,"street_2":`, row.Text(column+1))
	into = appendText(into, `,"city":`, row.Text(column+2))
	into = appendText(into, `,"state":`, row.Text(column+3))
	return append(appendText(into, `,"zip":`, row.Text(column+4)), '}')
}

// appendCustomer appends a row of read_customer, with the balance as it will be.
func appendCustomer(into []byte, row engine.Row, customer int64, amount engine.Cents) []byte {
	into = appendInt(into, `,"customer":{"c_id":`, customer)
	into = appendText(into, `,"c_first":`, row.Text(0))
	into = appendText(into, `,"c_middle":`, row.Text(1))
	into = appendText(into, `,"c_last":`, row.Text(2))
	into = appendAddress(append(into, `,"address":`...), row, 3)
	into = appendText(into, `,"c_phone":`, row.Text(8))
	into = appendInt(into, `,"c_since":`, row.Unix(9))
	into = appendText(into, `,"c_credit":`, row.Text(10))
	into = appendInt(into, `,"c_credit_lim":`, row.Scaled(11, 2))
	into = appendInt(into, `,"c_discount":`, row.Scaled(12, 4))
	return append(appendInt(into, `,"c_balance":`, row.Scaled(13, 2)-int64(amount)), '}')
}

package tpcc

import (
	"strconv"
	"unicode/utf8"

	"stackmark/net-http/internal/engine"
)

// orderTotal is the sum of ol_amount × (1 − c_discount) × (1 + w_tax + d_tax), rounded half up to a cent (2.4.2.2). Rates are
// ten-thousandths. The largest order (15 lines of 10 pieces at 100.00) times both factors stays below 2^50.
func orderTotal(amounts engine.Cents, discount, warehouseTax, districtTax int64) engine.Cents {
	const one = 10_000
	scaled := int64(amounts)*(one-discount)*(one+warehouseTax+districtTax) + one*one/2
	total := scaled / (one * one)
	// Division rounds towards zero.
	if scaled%(one*one) < 0 {
		total--
	}
	return engine.Cents(total)
}

// dataMax is how long c_data is.
const dataMax = 500

// badCreditData is what a payment leaves in c_data of a customer with bad credit: the fact goes in front, and the end is cut
// off (2.5.2.2).
func badCreditData(pay *payment, customer int64, old []byte) string {
	data := make([]byte, 0, dataMax)
	for _, number := range [...]int64{customer, pay.customerDistrict, pay.customerWarehouse, pay.district, pay.warehouse} {
		data = append(strconv.AppendInt(data, number, 10), ' ')
	}
	amount := int64(pay.amount)
	data = strconv.AppendInt(data, amount/100, 10)
	data = append(data, '.', byte('0'+amount/10%10), byte('0'+amount%10), ' ')
	return string(append(data, cut(old, dataMax-len(data))...))
}

// cut takes the beginning of a text, of at most so many bytes and of whole characters.
func cut[T string | []byte](text T, most int) T {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

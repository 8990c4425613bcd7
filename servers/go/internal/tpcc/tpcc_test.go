package tpcc

import (
	"os"
	"slices"
	"strings"
	"testing"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/settings"
	"stackmark/net-http/internal/statements"
	"stackmark/net-http/internal/web"
)

func TestTheFilesHaveTheStatements(t *testing.T) {
	for _, on := range []settings.Engine{settings.Postgres, settings.MariaDB} {
		text, err := os.ReadFile("../../../sql/tpcc." + string(on) + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := statements.Parse(string(text), Names(on)); err != nil {
			t.Error(on, err)
		}
	}
	if names[stmtReadClaim] != "read_claim" || names[stmtLowStock] != "low_stock" || names[stmtReadCarried] != "read_carried" {
		t.Error("the numbers of statements are not those of their names")
	}
}

func TestTheTotalIsExact(t *testing.T) {
	for _, row := range []struct{ amounts, discount, warehouse, district, wanted int64 }{
		// 4900 × 0.875 × 1.23 is 5273.625.
		{4900, 1250, 800, 1500, 5274},
		{0, 0, 0, 0, 0},
		{150_000, 5000, 2000, 2000, 105_000},
		// Half a cent goes up.
		{1, 5000, 0, 0, 1},
	} {
		if found := orderTotal(engine.Cents(row.amounts), row.discount, row.warehouse, row.district); int64(found) != row.wanted {
			t.Error(row, found)
		}
	}
}

func TestBadCreditGoesInFront(t *testing.T) {
	pay := &payment{warehouse: 1, district: 2, customerWarehouse: 3, customerDistrict: 4, amount: 123_405}
	data := badCreditData(pay, 7, []byte(strings.Repeat("x", 500)))
	if len(data) != 500 || !strings.HasPrefix(data, "7 4 3 2 1 1234.05 xxx") {
		t.Error(data)
	}
	if data := badCreditData(pay, 7, []byte("old")); data != "7 4 3 2 1 1234.05 old" {
		t.Error(data)
	}
	if found := cut("aé", 2); found != "a" {
		t.Error(found)
	}
}

func TestLinesAreWorkedInTheOrderOfTheStock(t *testing.T) {
	order := workingOrder([]line{{item: 9, supply: 1}, {item: 3, supply: 2}, {item: 3, supply: 1}, {item: 9, supply: 1}})
	if !slices.Equal(order, []int{2, 1, 0, 3}) {
		t.Error(order)
	}
}

func TestCalls(t *testing.T) {
	w := &workload{warehouses: 2, customers: 30}
	line := `{"i_id":1,"supply_w_id":2,"quantity":1}`
	lines := func(of ...string) string {
		return `{"w_id":1,"d_id":1,"c_id":1,"lines":[` + strings.Join(of, ",") + `]}`
	}
	for _, row := range []struct {
		decode       func(*web.Request) (web.Call, *web.Problem)
		body, wanted string
	}{
		{w.decodeNewOrder, lines(line, line, line, line, line), ""},
		{w.decodeNewOrder, lines(), "invalid"},
		{w.decodeNewOrder, lines(slices.Repeat([]string{line}, 16)...), "invalid"},
		{w.decodeNewOrder, lines(line, line, line, line, `{"i_id":0,"supply_w_id":2,"quantity":1}`), "invalid"},
		{w.decodeNewOrder, lines(line, line, line, line, `{"i_id":1,"supply_w_id":3,"quantity":1}`), "unknown-id"},
		{w.decodeNewOrder, lines(line, line, line, line, `{"i_id":4294967295,"supply_w_id":1,"quantity":11}`), "invalid"},
		{w.decodeNewOrder, lines(line, line, line, line, `[1,1,1]`), "invalid"},
		{w.decodePayment, `{"w_id":1,"d_id":1,"c_w_id":2,"c_d_id":1,"c_id":30,"h_amount":100}`, ""},
		{w.decodePayment, `{"w_id":1,"d_id":1,"c_w_id":2,"c_d_id":1,"c_last":"BAR","h_amount":100}`, ""},
		{w.decodePayment, `{"w_id":1,"d_id":1,"c_w_id":3,"c_d_id":1,"c_id":30,"h_amount":100}`, "unknown-id"},
		{w.decodePayment, `{"w_id":1,"d_id":1,"c_w_id":2,"c_d_id":1,"c_id":30,"h_amount":0}`, "invalid"},
		{w.decodePayment, `{"w_id":1,"d_id":1,"c_w_id":2,"c_d_id":1,"h_amount":100}`, "invalid"},
		{w.decodeOrderStatus, `{"w_id":1,"d_id":1,"c_id":31}`, "unknown-id"},
		{w.decodeOrderStatus, `{"w_id":1,"d_id":1,"c_id":1,"c_last":"BAR"}`, "invalid"},
		{w.decodeOrderStatus, `{"w_id":1,"d_id":1,"c_id":1,"c_last":null}`, ""},
		{w.decodeOrderStatus, `{"w_id":1,"d_id":1,"c_last":"BARBARBARBARBARBAR"}`, "invalid"},
		{w.decodeOrderStatus, `{"w_id":1,"d_id":1,"c_last":"\u0000"}`, "unknown-id"},
		{w.decodeDelivery, `{"w_id":2,"o_carrier_id":10}`, ""},
		{w.decodeDelivery, `{"w_id":2,"o_carrier_id":11}`, "invalid"},
		{w.decodeDelivery, `{"w_id":0,"o_carrier_id":1}`, "unknown-id"},
		{w.decodeDelivery, `{"w_id":-1,"o_carrier_id":1}`, "invalid"},
		{w.decodeStockLevel, `{"w_id":1,"d_id":10,"threshold":20}`, ""},
		{w.decodeStockLevel, `{"w_id":1,"d_id":11,"threshold":20}`, "unknown-id"},
		{w.decodeStockLevel, `{"w_id":1,"d_id":1,"threshold":9}`, "invalid"},
		{w.decodeStockLevel, `{"w_id":1,"d_id":1,"threshold":10}}`, "malformed"},
	} {
		_, problem := row.decode(&web.Request{Body: []byte(row.body)})
		found := ""
		if problem != nil {
			found = problem.Type
		}
		if found != row.wanted {
			t.Errorf("%s: %s", row.body, found)
		}
	}
}

package tpcc

import "stackmark/net-http/internal/settings"

// Statements of spec/sql/tpcc, in the order of names.
const (
	stmtWarehouseTax = iota
	stmtClaimOrderID
	stmtCustomerTerms
	stmtInsertOrder
	stmtInsertNewOrder
	stmtReadItem
	stmtReadStock
	stmtUpdateStock
	stmtInsertOrderLine
	stmtPayWarehouse
	stmtPayDistrict
	stmtCustomersByName
	stmtReadCustomer
	stmtReadCustomerData
	stmtPayCustomer
	stmtPayCustomerWithData
	stmtInsertHistory
	stmtCustomerStatus
	stmtNewestOrder
	stmtOrderLines
	stmtOldestNewOrder
	stmtDeleteNewOrder
	stmtCarryOrder
	stmtDeliverLines
	stmtSumLines
	stmtCreditCustomer
	stmtNextOrderID
	stmtLowStock
	// Only where an update gives no rows back: see transaction.returning.
	stmtReadClaim
	stmtReadPaidWarehouse
	stmtReadPaidDistrict
	stmtReadCarried
)

var names = []string{
	"warehouse_tax", "claim_order_id", "customer_terms", "insert_order", "insert_new_order", "read_item", "read_stock",
	"update_stock", "insert_order_line", "pay_warehouse", "pay_district", "customers_by_name", "read_customer",
	"read_customer_data", "pay_customer", "pay_customer_with_data", "insert_history", "customer_status", "newest_order",
	"order_lines", "oldest_new_order", "delete_new_order", "carry_order", "deliver_lines", "sum_lines", "credit_customer",
	"next_order_id", "low_stock",
	"read_claim", "read_paid_warehouse", "read_paid_district", "read_carried",
}

// Names are those of the statements that are used on an engine.
func Names(on settings.Engine) []string {
	if on == settings.MariaDB {
		return names
	}
	return names[:stmtReadClaim]
}

// Questions ask for the scale of the loaded data: its warehouses, and the customers of a district.
var Questions = []string{
	"select count(*) from warehouse",
	"select count(*) from customer where c_w_id = 1 and c_d_id = 1",
}

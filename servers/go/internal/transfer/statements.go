// Package transfer is money between accounts, in one store or by a saga over several: spec/openapi/transfer.yaml over the
// statements of spec/sql/transfer.
package transfer

// Places of the statements in Names.
const (
	stmtLockAccounts = iota
	stmtInsertTransfer
	stmtMoveMoney
	stmtInsertEntries
	stmtReadTransfer
	stmtReadAccount
	stmtLockAccount
	stmtAddMoney
	stmtInsertEntry
	stmtInsertMessage
)

// Names are those of the statements of calls.
var Names = []string{
	"lock_accounts", "insert_transfer", "move_money", "insert_entries", "read_transfer", "read_account",
	"lock_account", "add_money", "insert_entry", "insert_message",
}

// Places of the relay's statements in RelayNames.
const (
	stmtReadOutbox = iota
	stmtInsertInbox
	stmtLockTargets
	stmtRefuseCredits
	stmtCreditAccounts
	stmtInsertCredits
	stmtReadInbox
	stmtInsertSettlement
	stmtSettleTransfers
	stmtRefundTransfer
	stmtRefundAccount
	stmtInsertRefund
	stmtDeleteMessages
	stmtDeleteSettlement
)

// RelayNames are those of the statements of a relay.
var RelayNames = []string{
	"read_outbox", "insert_inbox", "lock_targets", "refuse_credits", "credit_accounts", "insert_credits", "read_inbox",
	"insert_settlement", "settle_transfers", "refund_transfer", "refund_account", "insert_refund", "delete_messages",
	"delete_settlement",
}

// Questions ask a store for its first account, its last one, and its branches, of which the load has kept a record.
var Questions = []string{
	"select first_account from shard_range",
	"select last_account from shard_range",
	"select (value::jsonb #>> '{record,scale}')::bigint from stackmark_load where name = 'contents'",
}

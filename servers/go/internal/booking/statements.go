// Package booking is tickets of events: spec/openapi/booking.yaml over the statements of spec/sql/booking.
package booking

// Places of the statements in Names.
const (
	stmtLook = iota
	stmtLookLimited
	stmtInsertBooking
	stmtTakeTickets
	stmtReadBooking
	stmtReadEvent
	stmtInsertOutbox
)

// Names are those of the statements of calls.
var Names = []string{"look", "look_limited", "insert_booking", "take_tickets", "read_booking", "read_event", "insert_outbox"}

// Questions ask the database for its events, of which the load has kept a record.
var Questions = []string{"select (value::jsonb #>> '{record,scale}')::bigint from stackmark_load where name = 'contents'"}

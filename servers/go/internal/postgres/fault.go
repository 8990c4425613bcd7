package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"stackmark/net-http/internal/engine"
)

// fault says what an error of pgx means for the call. atCommit says whether a commit had been sent: where the connection ends
// there, it is open whether it was made. What the server itself answers to a commit means that nothing was applied.
func (c *Conn) fault(err error, atCommit bool) *engine.Fault {
	lost := engine.Lost(c.kind, c.open || c.kind.IsOne(), atCommit)
	var said *pgconn.PgError
	switch {
	case errors.As(err, &said):
		return faultOf(said.Code, said.Message, atCommit, lost)
	case c.conn.IsClosed():
		// pgx closes a connection on which reading or writing failed, at the deadline too.
		return lost
	}
	return engine.Defective("pgx: %v", err)
}

func faultOf(code, message string, atCommit bool, lost *engine.Fault) *engine.Fault {
	switch code {
	case "40001", "40000":
		return engine.Serialization
	case "40P01":
		return engine.Deadlock
	case "55P03", "57014":
		// Lock not available; cancelled, by the statement timeout among others: this attempt was undone.
		return engine.Busy
	case "25006":
		return engine.Unwritable(message)
	case "53300", "57P03":
		return engine.Unreachable
	case "57P01", "57P02", "57P04", "57P05", "25P03", "40003":
		// The server ended the session.
		return lost
	}
	class := code
	if len(class) > 2 {
		class = class[:2]
	}
	switch {
	case class == "08":
		return lost
	case class == "53":
		return engine.Unwritable(message)
	case class == "58" && atCommit:
		return engine.CommitUnanswered
	case class == "58":
		return engine.Unwritable(message)
	}
	return engine.Defective("PostgreSQL %s: %s", code, message)
}

// openError says what an error means for somebody who connects.
func openError(place string, err error) *engine.OpenError {
	var said *pgconn.PgError
	if !errors.As(err, &said) {
		// pgx never shows a password in its errors.
		return &engine.OpenError{Unreachable: true, Place: place, Why: err.Error()}
	}
	unreachable := false
	switch said.Code[:min(2, len(said.Code))] {
	case "08", "53", "57", "58":
		unreachable = true
	}
	return &engine.OpenError{Unreachable: unreachable, Place: place, Why: said.Message + " (SQLSTATE " + said.Code + ")"}
}

package mariadb

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"

	"stackmark/net-http/internal/engine"
)

// fault says what an error means for the call. atCommit says whether the engine may have been committing: what cuts that short
// leaves open whether it will be seen.
func (c *Conn) fault(err error, atCommit bool) *engine.Fault {
	lost := engine.Lost(c.kind, c.begun || c.kind.IsOne(), atCommit)
	var said *mysql.MySQLError
	switch {
	case errors.As(err, &said):
		return faultOf(said.Number, said.Message, atCommit, lost)
	case isLost(err):
		return lost
	}
	return engine.Defective("go-sql-driver: %v", err)
}

// isLost tells whether an error is of the connection: the driver's words for it, database/sql's, or the system's.
func isLost(err error) bool {
	for _, known := range []error{
		mysql.ErrInvalidConn, driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		mysql.ErrPktSync, mysql.ErrPktSyncMul, mysql.ErrMalformPkt,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var system net.Error
	return errors.As(err, &system)
}

func faultOf(number uint16, message string, atCommit bool, lost *engine.Fault) *engine.Fault {
	switch number {
	case 1213, 1614:
		// A deadlock: the engine has rolled back.
		return engine.Deadlock
	case 1020:
		// The row has changed since the snapshot.
		return engine.Serialization
	case 1205, 3572, 1206:
		// A lock was waited for too long, or there is no room for more of them.
		return engine.Busy
	case 1040, 1203, 1226:
		// Too many connections.
		return engine.NoSession
	case 1317, 1969, 3024:
		// The statement was ended, by its time among others.
		if atCommit {
			return engine.CommitUnanswered
		}
		return engine.Busy
	case 1180:
		if atCommit {
			return engine.CommitUnanswered
		}
	case 2006, 2013, 1152, 1158, 1159, 1160, 1161, 1184, 4031, 1053, 1927:
		// The connection is gone, or goes.
		return lost
	case 1290, 1792, 1036, 1836, 1874, 1021, 1114, 1878:
		// Read-only, or full.
		return engine.Unwritable(message)
	case 1004, 1026, 1030:
		// They name the system's error, 28 of a full disk.
		if strings.Contains(message, "No space left") || strings.Contains(message, "error 28") {
			return engine.Unwritable(message)
		}
	}
	return engine.Defective("MySQL %d: %s", number, message)
}

// openError says what an error means for somebody who connects.
func openError(place string, err error) *engine.OpenError {
	var said *mysql.MySQLError
	if !errors.As(err, &said) {
		return &engine.OpenError{Unreachable: true, Place: place, Why: err.Error()}
	}
	unreachable := false
	switch said.Number {
	case 1040, 1203, 1226, 1053, 1927:
		unreachable = true
	}
	return &engine.OpenError{Unreachable: unreachable, Place: place, Why: fmt.Sprintf("it says %d: %s", said.Number, said.Message)}
}

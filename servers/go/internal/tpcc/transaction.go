package tpcc

import (
	"stackmark/net-http/internal/engine"
)

// transaction is an attempt of a call.
type transaction struct {
	*workload
	session *engine.Session
}

// one runs a statement that must find a row.
func (t *transaction) one(statement int, read func(engine.Row), args ...any) error {
	found, err := t.session.One(statement, read, args...)
	if err == nil && !found {
		return absent(statement)
	}
	return err
}

// changedOne runs a statement that must change one row.
func (t *transaction) changedOne(statement int, args ...any) error {
	changed, err := t.session.Exec(statement, args...)
	if err == nil && changed != 1 {
		return absent(statement)
	}
	return err
}

// back runs an update and reads the row that it changed: in one statement where there is `returning`, in two where
// there is not. The second reads what the first has locked, by the first of the same parameters.
func (t *transaction) back(update, readBack int, read func(engine.Row), args ...any) error {
	if t.returning {
		return t.one(update, read, args...)
	}
	if err := t.changedOne(update, args...); err != nil {
		return err
	}
	return t.one(readBack, read, args...)
}

func absent(statement int) error {
	return engine.Defective("statement `%s` found no row where there must be one", names[statement])
}

// identify finds the customer. By last name it is the one at position ⌈n/2⌉ of all who have it, in order by first name (2.5.2.2).
func (t *transaction) identify(warehouse, district int64, who *who) (int64, error) {
	if who.hasID {
		return who.id, nil
	}
	var room [64]int64
	namesakes := room[:0]
	_, err := t.session.Rows(stmtCustomersByName, func(row engine.Row) {
		namesakes = append(namesakes, row.Int(0))
	}, warehouse, district, who.last)
	switch {
	case err != nil:
		return 0, err
	case len(namesakes) == 0:
		return 0, engine.NotThere("no customer is called %s", who.last)
	}
	return namesakes[(len(namesakes)+1)/2-1], nil
}

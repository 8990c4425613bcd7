package mariadb

import (
	"fmt"
	"time"

	"stackmark/net-http/internal/engine"
)

// row is a row as the driver gives it. Its cells are scanned into as they are: for numbers of our own database/sql would go
// through reflection, and copy every text.
type row struct {
	cells    []cell
	pointers []any
	// wrong is the first column that is not what it was taken for.
	wrong string
}

var _ engine.Row = (*row)(nil)

// cell keeps what it is scanned from, which is good until the next row.
type cell struct{ value any }

// Scan is sql.Scanner's.
func (c *cell) Scan(value any) error {
	c.value = value
	return nil
}

// of makes as many cells as there are columns, and gives what rows are scanned into.
func (r *row) of(columns int) []any {
	r.wrong = ""
	if columns > len(r.cells) {
		r.cells = make([]cell, columns)
		r.pointers = make([]any, columns)
		for at := range r.cells {
			r.pointers[at] = &r.cells[at]
		}
	}
	return r.pointers[:columns]
}

func (r *row) IsNull(column int) bool { return r.cells[column].value == nil }

func (r *row) Int(column int) int64 {
	if number, whole := r.cells[column].value.(int64); whole {
		return number
	}
	return r.isNo(column, "whole number")
}

func (r *row) Unix(column int) int64 {
	if at, known := r.cells[column].value.(time.Time); known {
		return at.Unix()
	}
	return r.isNo(column, "time")
}

func (r *row) Text(column int) []byte {
	if text, known := r.cells[column].value.([]byte); known {
		return text
	}
	r.isNo(column, "text")
	return nil
}

func (r *row) Scaled(column, digits int) int64 {
	switch value := r.cells[column].value.(type) {
	case []byte:
		if number, exact := scaled(value, digits); exact {
			return number
		}
	case int64:
		if number, exact := scaled(fmt.Append(nil, value), digits); exact {
			return number
		}
	}
	return r.isNo(column, "number of so few digits")
}

func (r *row) isNo(column int, what string) int64 {
	if r.wrong == "" {
		r.wrong = fmt.Sprintf("column %d is no %s", column, what)
	}
	return 0
}

// scaled is the text of a decimal times ten to the power of digits; nothing where it is none, too large, or has more digits.
func scaled(text []byte, digits int) (number int64, exact bool) {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	point, seen := false, false
	for _, c := range text {
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9':
			return 0, false
		}
		seen = true
		if point {
			if digits == 0 {
				// Zeros behind the last digit asked for are none.
				if c != '0' {
					return 0, false
				}
				continue
			}
			digits--
		}
		if number > (1<<62)/10 {
			return 0, false
		}
		number = number*10 + int64(c-'0')
	}
	for ; digits > 0; digits-- {
		if number > (1<<62)/10 {
			return 0, false
		}
		number *= 10
	}
	if negative {
		number = -number
	}
	return number, seen
}

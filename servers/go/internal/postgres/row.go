package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"stackmark/net-http/internal/engine"
)

// epoch is 2000 in seconds since 1970: from there PostgreSQL counts.
const epoch = 946_684_800

// row is a row in PostgreSQL's binary forms. rows.Scan would go through pgx's plans for each column of each row; decimals are
// big integers there.
type row struct {
	fields []pgconn.FieldDescription
	values [][]byte
	// wrong is the first column that is not what it was taken for.
	wrong string
}

var _ engine.Row = (*row)(nil)

func (r *row) IsNull(column int) bool { return r.values[column] == nil }

func (r *row) Int(column int) int64 {
	switch raw := r.values[column]; len(raw) {
	case 8:
		return int64(binary.BigEndian.Uint64(raw))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(raw)))
	case 2:
		return int64(int16(binary.BigEndian.Uint16(raw)))
	}
	return r.isNo(column, "whole number")
}

func (r *row) Unix(column int) int64 {
	raw := r.values[column]
	if len(raw) != 8 {
		return r.isNo(column, "time")
	}
	micros := int64(binary.BigEndian.Uint64(raw))
	// Division rounds towards zero, and seconds begin below.
	seconds := micros / 1_000_000
	if micros%1_000_000 < 0 {
		seconds--
	}
	return seconds + epoch
}

func (r *row) Text(column int) []byte {
	raw := r.values[column]
	if raw == nil {
		r.isNo(column, "text")
	}
	if r.fields[column].DataTypeOID == pgtype.BPCharOID {
		return bytes.TrimRight(raw, " ")
	}
	return raw
}

func (r *row) Scaled(column, digits int) int64 {
	number, exact := scaled(r.values[column], digits)
	if !exact {
		return r.isNo(column, "number of so few digits")
	}
	return number
}

func (r *row) isNo(column int, what string) int64 {
	if r.wrong == "" {
		r.wrong = fmt.Sprintf("column %d is no %s", column, what)
	}
	return 0
}

// scaled is a decimal times ten to the power of digits; nothing where it is no number, too large, or has more digits. The form is
// four words (count of digits of base 10,000, power of the first, sign, digits shown) and then the digits.
func scaled(raw []byte, digits int) (number int64, exact bool) {
	if len(raw) < 8 {
		return 0, false
	}
	count, power := int(binary.BigEndian.Uint16(raw)), 4*int(int16(binary.BigEndian.Uint16(raw[2:])))+digits
	sign := binary.BigEndian.Uint16(raw[4:])
	if len(raw) != 8+2*count || sign != 0 && sign != 0x4000 {
		return 0, false
	}
	for at := range count {
		digit := int64(binary.BigEndian.Uint16(raw[8+2*at:]))
		part, fits := shifted(digit, power-4*at)
		if !fits || number > 1<<62-part {
			return 0, false
		}
		number += part
	}
	if sign != 0 {
		number = -number
	}
	return number, true
}

// shifted is a digit of base 10,000 times ten to some power.
func shifted(digit int64, power int) (int64, bool) {
	if digit == 0 {
		return 0, true
	}
	for ; power > 0; power-- {
		if digit > (1<<62)/10 {
			return 0, false
		}
		digit *= 10
	}
	for ; power < 0; power++ {
		if digit%10 != 0 {
			return 0, false
		}
		digit /= 10
	}
	return digit, true
}

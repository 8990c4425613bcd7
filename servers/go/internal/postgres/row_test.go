package postgres

import (
	"encoding/binary"
	"testing"

	"stackmark/net-http/internal/engine"
)

func TestAmountsSurvivePostgresForm(t *testing.T) {
	for _, cents := range []int64{0, 1, -1, 99, 100, -100, 123_405, -123_405, 999_999, 1_000_000, 500_000_00, 1<<53 - 1, -(1<<53 - 1)} {
		raw, err := centsPlan{}.Encode(engine.Cents(cents), nil)
		if err != nil {
			t.Fatal(err)
		}
		if found, exact := scaled(raw, 2); !exact || found != cents {
			t.Errorf("%d became %d (% x)", cents, found, raw)
		}
	}
}

func numeric(words ...uint16) (raw []byte) {
	for _, word := range words {
		raw = binary.BigEndian.AppendUint16(raw, word)
	}
	return raw
}

func TestDecimals(t *testing.T) {
	for _, row := range []struct {
		raw    []byte
		digits int
		wanted int64
		exact  bool
	}{
		{numeric(1, 0xffff, 0, 4, 1250), 4, 1250, true}, // 0.1250
		{numeric(2, 0, 0x4000, 2, 12, 3400), 2, -1234, true},
		{numeric(2, 0, 0, 3, 12, 3450), 2, 0, false}, // 12.345
		{numeric(1, 1, 0, 0, 5), 2, 5_000_000, true}, // 50000
		{numeric(0, 0, 0, 0), 2, 0, true},
		{numeric(0, 0, 0xc000, 0), 2, 0, false}, // not a number
		{numeric(1, 9, 0, 0, 9999), 2, 0, false},
		{[]byte{0}, 2, 0, false},
		{nil, 2, 0, false},
		{numeric(2, 0, 0, 0, 1), 2, 0, false},
	} {
		if found, exact := scaled(row.raw, row.digits); exact != row.exact || exact && found != row.wanted {
			t.Errorf("% x: %d, %v", row.raw, found, exact)
		}
	}
}

func TestColumns(t *testing.T) {
	r := row{values: [][]byte{{0xff, 0xfe}, {0, 0, 1, 0}, binary.BigEndian.AppendUint64(nil, 1<<40), nil, {1}}}
	if r.Int(0) != -2 || r.Int(1) != 256 || r.Int(2) != 1<<40 || !r.IsNull(3) || r.wrong != "" {
		t.Error(r.wrong)
	}
	_ = r.Int(4)
	if r.wrong != "column 4 is no whole number" {
		t.Error(r.wrong)
	}
	before := int64(-1_500_000)
	r = row{values: [][]byte{binary.BigEndian.AppendUint64(nil, uint64(before)), make([]byte, 8)}}
	if r.Unix(0) != epoch-2 || r.Unix(1) != epoch {
		t.Error(r.Unix(0), r.Unix(1))
	}
}

func TestWhatErrorsMean(t *testing.T) {
	for code, wanted := range map[string]*engine.Fault{
		"40001": engine.Serialization, "40P01": engine.Deadlock, "55P03": engine.Busy, "57014": engine.Busy, "53300": engine.Unreachable,
		"57P01": engine.ConnectionLost, "08006": engine.ConnectionLost,
	} {
		if found := faultOf(code, "", false, engine.ConnectionLost); found != wanted {
			t.Error(code, found)
		}
	}
	if found := faultOf("53100", "disk full", false, nil); found.Reason != "unwritable" {
		t.Error(found)
	}
	if found := faultOf("58030", "", true, nil); found != engine.CommitUnanswered {
		t.Error(found)
	}
	if found := faultOf("23505", "", false, nil); found.Class != engine.Defect {
		t.Error(found)
	}
}

package web

import (
	"math"
	"net/http"
	"strconv"
	"strings"
)

// Key is an idempotency key: run, worker and sequence number.
type Key struct{ Run, Worker, Sequence int64 }

// KeyOf reads the idempotency key of a call, each of which has another.
func KeyOf(header http.Header, call string) (Key, *Problem) {
	values := header["Idempotency-Key"]
	if len(values) == 0 {
		return Key{}, Invalid("idempotency-key is missing; it is 32 digits of 0-9 and a-f, another for each " + call)
	}
	if key, is := ParseKey(values[0]); is && len(values) == 1 {
		return key, nil
	}
	return Key{}, Invalid("idempotency-key is not 32 digits of 0-9 and a-f")
}

// ParseKey reads 32 lower-case hexadecimal digits.
func ParseKey(text string) (Key, bool) {
	if len(text) != 32 || strings.Trim(text, "0123456789abcdef") != "" {
		return Key{}, false
	}
	run, _ := strconv.ParseUint(text[:16], 16, 64)
	rest, _ := strconv.ParseUint(text[16:], 16, 64)
	// Stored as the signed number of the same bits.
	return Key{Run: int64(run), Worker: int64(rest >> 32), Sequence: int64(rest & math.MaxUint32)}, true
}

// Append writes its digits.
func (k Key) Append(into []byte) []byte {
	const digits = "0123456789abcdef"
	for _, part := range [...]uint64{uint64(k.Run), uint64(k.Worker)<<32 | uint64(k.Sequence)} {
		for shift := 60; shift >= 0; shift -= 4 {
			into = append(into, digits[part>>shift&0xf])
		}
	}
	return into
}

// Number reads digits without a sign and without zeros before them.
func Number(text string) (int64, bool) {
	if text == "" || text[0] == '0' || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	value, err := strconv.ParseUint(text, 10, 32)
	return int64(value), err == nil
}

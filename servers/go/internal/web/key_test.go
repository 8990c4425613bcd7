package web

import (
	"math"
	"strings"
	"testing"
)

const digits = "8123456789abcdef0000000700000013"

func TestKeys(t *testing.T) {
	found, is := ParseKey(digits)
	if run := uint64(0x8123456789abcdef); !is || found != (Key{int64(run), 7, 19}) {
		t.Error(found, is)
	}
	for _, text := range []string{"", digits[1:], digits + "0", strings.ToUpper(digits), strings.Replace(digits, "8", "g", 1)} {
		if _, is := ParseKey(text); is {
			t.Error(text)
		}
	}
}

func TestKeysAreWrittenAsTheyAreRead(t *testing.T) {
	for _, text := range []string{digits, strings.Repeat("0", 32), strings.Repeat("f", 32)} {
		if key, is := ParseKey(text); !is || string(key.Append(nil)) != text {
			t.Error(text, key, string(key.Append(nil)))
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, wanted := range map[string]int64{"1": 1, "4294967295": math.MaxUint32} {
		if found, is := Number(text); !is || found != wanted {
			t.Error(text, found, is)
		}
	}
	for _, text := range []string{"", "0", "01", "+1", "-1", "1.0", "4294967296", "x"} {
		if _, is := Number(text); is {
			t.Error(text)
		}
	}
}

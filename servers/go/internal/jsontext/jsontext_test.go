package jsontext

import (
	"encoding/json"
	"testing"
)

func TestATextSurvives(t *testing.T) {
	for _, text := range []string{"", "oat milk", "a\"b\\c", "\x00\x1f\n\t", "é😀 end", "\"", "x\n"} {
		var back string
		if written := AppendText(nil, text); json.Unmarshal(written, &back) != nil || back != text {
			t.Errorf("%q became %s", text, written)
		}
	}
	if written := string(AppendText([]byte("x"), []byte("a"))); written != `x"a"` {
		t.Error(written)
	}
}

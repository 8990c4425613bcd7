package strictjson

import (
	"strings"
	"testing"
)

var shape = &Shape{Names: []string{"id", "name", "fibre"}, Required: 2}

type read struct {
	id, fibre int64
	name      string
}

func parse(text string) (read, *Error) {
	var found read
	r := New([]byte(text))
	r.Object(shape, func(at int) {
		switch at {
		case 0:
			found.id = r.Int(1, 1<<53-1)
		case 1:
			found.name = string(r.Text())
		case 2:
			if !r.Null() {
				found.fibre = r.Int(0, 1000)
			}
		}
	})
	return found, r.End()
}

func TestWhatIsTaken(t *testing.T) {
	for text, wanted := range map[string]read{
		`{"id":7,"name":"a"}`: {id: 7, name: "a"},
		" {\n\"name\" : \"a\\u00e9\\n\\\"\\ud83d\\ude00\" ,\t\"id\": 9007199254740991,\"fibre\":null}\r\n": {id: 1<<53 - 1, name: "aé\n\"😀"},
		`{"id":1,"name":"","fibre":0}`: {id: 1},
	} {
		if found, err := parse(text); err != nil || found != wanted {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	invalid := []string{
		`[]`, `null`, `"x"`, `7`, `true`, `{}`, `{"id":1}`, `{"id":1,"name":"a","x":1}`, `{"id":1,"id":1,"name":"a"}`,
		`{"ID":1,"name":"a"}`, `{"id":"1","name":"a"}`, `{"id":null,"name":"a"}`, `{"id":1.0,"name":"a"}`, `{"id":1e2,"name":"a"}`,
		`{"id":0,"name":"a"}`, `{"id":-1,"name":"a"}`, `{"id":-0,"name":"a"}`, `{"id":9223372036854775808,"name":"a"}`,
		`{"id":99999999999999999999999,"name":"a"}`, `{"id":1,"name":null}`, `{"id":1,"name":{}}`, `{"id":1,"name":"a","fibre":false}`,
		strings.Repeat("[", 30_000),
	}
	malformed := []string{
		``, ` `, `{`, `{"id"`, `{"id":`, `{"id":1`, `{"id":1,`, `{"id":1,}`, `{"id":1,"name":"a"}}`, `{"id":1,"name":"a"} x`, `{'id':1}`,
		`{"id":01,"name":"a"}`, `{"id":+1,"name":"a"}`, `{"id":1.,"name":"a"}`, `{"id":1e400,"name":"a"}`, `{"id":1e,"name":"a"}`, `{"id":-,"name":"a"}`,
		`{"id":1,"name":"a`, "{\"id\":1,\"name\":\"a\n\"}", "{\"id\":1,\"name\":\"\xff\"}", `{"id":1,"name":"\x"}`, `{"id":1,"name":"\u12"}`,
		`{"id":1,"name":"\ud83d"}`, `{"id":1,"name":"\ude00\ud83d"}`, `{"id":1 "name":"a"}`, `{"id" 1}`, `nul`, `tru`, "\ufeff{}", `{"id":1,"name":"\`,
		`{"id":1,"name":"a","fibre":nul}`,
	}
	for _, text := range invalid {
		if _, err := parse(text); err == nil || err.Malformed {
			t.Errorf("%.60s: %v is not invalid", text, err)
		}
	}
	for _, text := range malformed {
		if _, err := parse(text); err == nil || !err.Malformed {
			t.Errorf("%s: %v is not malformed", text, err)
		}
	}
}

func TestAnErrorNamesItsField(t *testing.T) {
	_, err := parse(`{"id":1,"name":"a","fibre":1001}`)
	if err == nil || err.Detail != "fibre: it is a whole number of 0 to 1000" {
		t.Error(err)
	}
}

func TestArrays(t *testing.T) {
	sum := func(text string) (total int64, err *Error) {
		r := New([]byte(text))
		r.Array(func(int) { total += r.Int(0, 9) })
		return total, r.End()
	}
	if total, err := sum(" [1, 2 ,3] "); err != nil || total != 6 {
		t.Error(total, err)
	}
	for _, text := range []string{"[1,]", "[,1]", "[1 2]", "[1", "[", "[1]]"} {
		if _, err := sum(text); err == nil || !err.Malformed {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzNothingPanics(f *testing.F) {
	f.Add(`{"id":7,"name":"a\u00e9","fibre":null}`)
	f.Fuzz(func(_ *testing.T, text string) { _, _ = parse(text) })
}

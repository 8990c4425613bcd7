package statements

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const file = `-- A comment.

-- name: one
-- params: 3 1 2
update t
set a = ? where b = ? and c = ?

-- name: two
-- params:
select 1
`

func TestParse(t *testing.T) {
	found, err := Parse(file, []string{"two", "one"})
	if err != nil || len(found) != 2 || found[0].Text != "select 1" || len(found[0].Params) != 0 {
		t.Fatal(found, err)
	}
	if !slices.Equal(found[1].Params, []int{2, 0, 1}) || !strings.HasPrefix(found[1].Text, "update t\nset") {
		t.Error(found[1])
	}
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	for text, wanted := range map[string]string{
		"":                                      "statement one is missing",
		"-- name: one\nselect 1":                "no line of params",
		"-- name: one\n-- params: 0\nselect 1":  "`0` is no number",
		"-- name: one\n-- params: x\nselect 1":  "`x` is no number",
		"-- name: one\n-- params:\n":            "statement one is missing",
		file + "\n-- name: one\n-- params:\nx;": "statement one is there twice",
	} {
		if _, err := Parse(text, []string{"one"}); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The files that come with it are read as a whole.
func TestTheFilesAreRead(t *testing.T) {
	files, err := filepath.Glob("../../../sql/*.sql")
	if err != nil || len(files) != 8 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(string(text)) {
			if name, is := strings.CutPrefix(line, "-- name: "); is {
				names = append(names, strings.TrimSpace(name))
			}
		}
		if _, err := Parse(string(text), names); err != nil || len(names) < 10 {
			t.Errorf("%s: %d statements, %v", file, len(names), err)
		}
	}
}

package catalogue

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/statements"
	"stackmark/net-http/internal/web"
)

func TestTheFilesHaveTheStatements(t *testing.T) {
	for _, engine := range []string{"postgres", "mariadb"} {
		text, err := os.ReadFile("../../../sql/catalogue." + engine + ".sql")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := statements.Parse(string(text), Names); err != nil {
			t.Error(engine, err)
		}
	}
	for name, at := range map[string]int{
		"categories": stmtCategories, "template_full": stmtTemplateFull, "insert_foods": stmtInsertFoods, "delete_food": stmtDeleteFood,
		"foods_by_name_page":           (&list{}).statement(),
		"category_foods_by_kcal_page":  (&list{filter: ofCategory, byKcal: true}).statement(),
		"search_foods_by_kcal_after":   (&list{filter: found, byKcal: true, after: true}).statement(),
		"category_foods_by_name_after": (&list{filter: ofCategory, after: true}).statement(),
	} {
		if Names[at] != name {
			t.Errorf("%s is %s", name, Names[at])
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "-", "oat milk 2", strings.Repeat("x", 48)} {
		if !isName(name) {
			t.Error(name)
		}
	}
	for _, name := range []string{"", " a", "a ", "A", "é", "a'b", "a_b", "\x00", strings.Repeat("x", 49)} {
		if isName(name) {
			t.Error(name)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, wanted := range map[string]bool{
		"1": true, "9007199254740991": true, "9007199254740992": false, "0": false, "01": false, "+1": false, "-1": false, "": false,
		"1.5": false, "1 ": false, "99999999999999999999": false, "١": false,
	} {
		if _, ok := number(text, 1, idMax); ok != wanted {
			t.Error(text)
		}
	}
}

func TestLists(t *testing.T) {
	for _, query := range []string{
		"", "order=name", "order=kcal&page=3&size=100", "category=5&after=oat%20milk,7", "search=a+b&order=kcal&after=0,7", "&&size=1&",
	} {
		if _, why := readList(query); why != "" {
			t.Error(query, why)
		}
	}
	for _, query := range []string{
		"x=1", "size=0", "size=101", "size=", "page=0", "page=1000001", "page=1&after=a,1", "category=1&search=a", "search=", "search=A",
		"order=", "order=price", "size=1&size=1", "after=a", "after=,1", "after=a,0", "after=a,1,2", "order=kcal&after=a,1",
		"order=kcal&after=901,1", "search=%ff", "search=%zz", "category=", "category=abc", "Size=1",
	} {
		if _, why := readList(query); why == "" {
			t.Error(query)
		}
	}
	l, _ := readList("search=ab&after=abc,7&size=3")
	if args := l.filtered(nil); len(args) != 2 || args[0] != "ab" || args[1] != "ab{" || l.name != "abc" || l.id != 7 || l.size != 3 {
		t.Error(args, l)
	}
}

const facts = `"name":"a","kcal":1,"protein":400,"fat":300,"carbs":300,"price":0`

func TestBodies(t *testing.T) {
	header := http.Header{"If-Match": {`"1"`}}
	for _, row := range []struct {
		decode func(*web.Request) (web.Call, *web.Problem)
		id     string
		body   string
		wanted string
	}{
		{decodeCreateCategory, "", `{"id":1,"name":"a"}`, ""},
		{decodeCreateCategory, "", `{"id":1,"name":"A"}`, "invalid"},
		{decodeCreateCategory, "", `{"id":1`, "malformed"},
		{decodeUpdateCategory, "0", `{`, "unknown-id"},
		{decodeUpdateCategory, "5", `{"name":"b"}`, ""},
		{decodeUpdateFood, "5", `{` + facts + `}`, ""},
		{decodeUpdateFood, "5", `{` + facts + `,"fibre":null}`, ""},
		{decodeUpdateFood, "5", `{` + facts + `,"fibre":1001}`, "invalid"},
		{decodeUpdateFood, "5", `{` + strings.Replace(facts, "400", "401", 1) + `}`, "invalid"},
		{decodeCreateFood, "", `{"id":1,"category":2,` + facts + `}`, ""},
		{decodeCreateFood, "", `{"id":1,` + facts + `}`, "invalid"},
		{decodeInsertFoods, "", `{"category":2,"foods":[{"id":1,` + facts + `},{"id":2,` + facts + `}]}`, ""},
		{decodeInsertFoods, "", `{"category":2,"foods":[{"id":1,` + facts + `},{"id":1,` + facts + `}]}`, "invalid"},
		{decodeInsertFoods, "", `{"category":2,"foods":[]}`, "invalid"},
		{decodeInsertFoods, "", `{"category":2,"foods":[` + strings.Repeat(`{"id":1,`+facts+`},`, 50) + `{}]}`, "invalid"},
		{decodeDelete(foods), "7", "", ""},
		{decodeTemplate, "x", "", "unknown-id"},
	} {
		_, problem := row.decode(&web.Request{ID: row.id, Header: header, Body: []byte(row.body)})
		found := ""
		if problem != nil {
			found = problem.Type
		}
		if found != row.wanted {
			t.Errorf("%.70s: %s", row.body, found)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, row := range []struct {
		tags   []string
		wanted string
	}{
		{[]string{`"1"`}, ""}, {nil, "unconditional"}, {[]string{"1"}, "invalid"}, {[]string{`W/"1"`}, "invalid"}, {[]string{`"1", "2"`}, "invalid"},
		{[]string{`"1"`, `"2"`}, "invalid"}, {[]string{`"0"`}, "invalid"}, {[]string{`"`}, "invalid"}, {[]string{"*"}, "invalid"},
		{[]string{`"9223372036854775807"`}, "invalid"},
	} {
		_, _, problem := changed(&web.Request{ID: "1", Header: http.Header{"If-Match": row.tags}})
		if (problem == nil) != (row.wanted == "") || problem != nil && problem.Type != row.wanted {
			t.Error(row, problem)
		}
	}
}

// table is rows as an engine gives them: numbers, texts and nils.
type table []any

func (r table) IsNull(column int) bool     { return r[column] == nil }
func (r table) Int(column int) int64       { return int64(r[column].(int)) }
func (r table) Scaled(column, _ int) int64 { return r.Int(column) }
func (r table) Text(column int) []byte     { return []byte(r[column].(string)) }
func (r table) Unix(column int) int64      { return r.Int(column) }

func TestATemplateIsNested(t *testing.T) {
	rows := []table{
		{"t", 1, 1, "breakfast", 5, "oat", 100, 20},
		{"t", 1, 1, "breakfast", 6, "milk", 60, 200},
		{"t", 1, 2, "lunch", nil, "", 0, 0},
		{"t", 2, nil, "", nil, "", 0, 0},
		{"t", 3, 1, "dinner", 5, "oat", 100, 30},
	}
	var days nested
	var into []byte
	for _, row := range rows {
		into = days.appendRow(into, engine.Row(row))
	}
	found := "[" + string(days.close(into)) + "]"
	wanted := `[{"day":1,"meals":[{"meal":1,"name":"breakfast","items":[{"food":5,"name":"oat","kcal":100,"grams":20},` +
		`{"food":6,"name":"milk","kcal":60,"grams":200}]},{"meal":2,"name":"lunch","items":[]}]},{"day":2,"meals":[]},` +
		`{"day":3,"meals":[{"meal":1,"name":"dinner","items":[{"food":5,"name":"oat","kcal":100,"grams":30}]}]}]`
	if found != wanted || !json.Valid([]byte(found)) {
		t.Error(found)
	}
	if empty := (&nested{}).close(nil); len(empty) != 0 {
		t.Error(string(empty))
	}
}

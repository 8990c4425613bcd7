package catalogue

import (
	"net/url"
	"strconv"
	"strings"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/web"
)

// Limits of lists.
const (
	pageMax     = 1_000_000
	pageSize    = 20
	pageSizeMax = 100
)

// filter is what a list lets through.
type filter int

const (
	allFoods filter = iota
	ofCategory
	found
)

var counts = [...]int{allFoods: stmtCountFoods, ofCategory: stmtCountCategoryFoods, found: stmtCountSearchFoods}

// list is what is asked of the list of foods.
type list struct {
	filter   filter
	category int64
	search   string
	byKcal   bool
	// after goes on behind a food instead of at a page: its name, or its kilocalories as they are written, and its id.
	after bool
	name  string
	kcal  int64
	id    int64
	page  int64
	size  int64
}

// statement has its place among the closed set of those for lists.
func (l *list) statement() int {
	at := stmtLists + int(l.filter)*4
	if l.byKcal {
		at += 2
	}
	if l.after {
		at++
	}
	return at
}

// filtered has the parameters of the filter, which are all that counting needs.
func (l *list) filtered(args []any) []any {
	switch l.filter {
	case ofCategory:
		return append(args, l.category)
	case found:
		// `{` follows `z`, the last of the characters that names are made of.
		return append(args, l.search, l.search+"{")
	}
	return args
}

func (l *list) run(s *engine.Session, a *web.Answer) (bool, error) {
	var room [5]any
	args := l.filtered(room[:0])
	a.Body = append(a.Body, '{')
	if !l.after {
		total := int64(0)
		if _, err := s.One(counts[l.filter], func(row engine.Row) { total = row.Int(0) }, args...); err != nil {
			return false, err
		}
		a.Body = append(appendField(a.Body, `"total":`, total), ',')
	}
	args = append(args, l.size)
	switch {
	case !l.after:
		args = append(args, (l.page-1)*l.size)
	case l.byKcal:
		args = append(args, l.kcal, l.id)
	default:
		args = append(args, l.name, l.id)
	}
	a.Body = append(a.Body, `"foods":[`...)
	_, err := s.Rows(l.statement(), func(row engine.Row) {
		a.Body = append(appendFood(a.Body, row), ',')
	}, args...)
	a.Body = append(closed(a.Body), "]}"...)
	return true, err
}

func decodeFoods(r *web.Request) (web.Call, *web.Problem) {
	list, why := readList(r.Query)
	if why != "" {
		return web.Call{}, web.Invalid(why)
	}
	kind := engine.Read
	if list.after {
		kind = engine.OneRead
	}
	// A page and its total are of one moment.
	return web.Call{Kind: kind, Run: list.run}, nil
}

// parameters are those that a list has.
var parameters = [...]string{"category", "search", "order", "page", "after", "size"}

// readList reads a query: each parameter once at most, and none that the list does not have. It says why not otherwise.
func readList(query string) (*list, string) {
	var values [len(parameters)]string
	var given [len(parameters)]bool
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		at := 0
		for at < len(parameters) && parameters[at] != name {
			at++
		}
		switch {
		case at == len(parameters):
			return nil, "the query has a parameter that is none of " + strings.Join(parameters[:], ", ")
		case given[at]:
			return nil, name + " is given twice"
		}
		given[at] = true
		var err error
		if values[at], err = url.QueryUnescape(value); err != nil {
			return nil, name + " has a % without two digits behind it"
		}
	}
	l := &list{page: 1, size: pageSize}
	category, search, order, page, after, size := 0, 1, 2, 3, 4, 5
	switch values[order] {
	case "name":
	case "kcal":
		l.byKcal = true
	default:
		if given[order] {
			return nil, "order is neither name nor kcal"
		}
	}
	switch {
	case given[category] && given[search]:
		return nil, "category and search exclude each other"
	case given[page] && given[after]:
		return nil, "page and after exclude each other"
	}
	whole := func(at int, into *int64, most int64) string {
		if number, ok := number(values[at], 1, most); ok {
			*into = number
		} else if given[at] {
			return parameters[at] + " is not a number of 1 to " + strconv.FormatInt(most, 10)
		}
		return ""
	}
	for _, why := range []string{whole(category, &l.category, idMax), whole(page, &l.page, pageMax), whole(size, &l.size, pageSizeMax)} {
		if why != "" {
			return nil, why
		}
	}
	if given[category] {
		l.filter = ofCategory
	}
	if given[search] {
		if !isName(values[search]) {
			return nil, "search: " + nameRule
		}
		l.filter, l.search = found, values[search]
	}
	if given[after] && !l.behind(values[after]) {
		return nil, "after is not the key of this order and the id of a food with a comma between them"
	}
	return l, ""
}

// behind reads where a list goes on: `NAME,ID` or `KCAL,ID` of the last food before, by what the list is ordered.
func (l *list) behind(text string) bool {
	key, id, _ := strings.Cut(text, ",")
	ok := false
	if l.id, ok = number(id, 1, idMax); !ok {
		return false
	}
	l.after = true
	if l.byKcal {
		l.kcal, ok = number(key, 0, kcalMax)
		return ok
	}
	l.name = key
	return isName(key)
}

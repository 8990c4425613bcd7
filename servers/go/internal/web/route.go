package web

import (
	"net/http"
	"strings"

	"stackmark/net-http/internal/engine"
)

// Route is a call of the contract. A path may have one `{id}` in it.
type Route struct {
	Method, Path string
	// Decode reads the call, or says what is wrong with it.
	Decode func(r *Request) (Call, *Problem)
}

// Request is what a call is read from.
type Request struct {
	// ID is what stands in the path for `{id}`, as it came.
	ID     string
	Query  string
	Header http.Header
	// Body is good until the call has been answered.
	Body []byte
}

// Call is a call that was read.
type Call struct {
	// Store is where it runs, by its place among the databases.
	Store int
	Kind  engine.Kind
	// Run makes the answer, and says whether what was done is to stay. It may be called again, from the start.
	Run func(s *engine.Session, a *Answer) (commit bool, err error)
}

// Answer is an outcome on its way to the client.
type Answer struct {
	Status int
	// Body is JSON, appended to.
	Body []byte
	// Version is sent as an etag, but 0.
	Version int64
	// Problem is there where the call was declined.
	Problem *Problem
}

func (a *Answer) reset() {
	a.Status, a.Body, a.Version, a.Problem = http.StatusOK, a.Body[:0], 0, nil
}

// Decline makes a problem document the answer. Nothing is to stay of the call.
func (a *Answer) Decline(why *Problem) (commit bool, err error) {
	a.Status, a.Problem = why.Status, why
	return false, nil
}

// place is a path with what each of its methods does.
type place struct {
	before, after string
	methods       []method
	allow         []string
}

type method struct {
	name   string
	decode func(r *Request) (Call, *Problem)
	// serve instead of decode where it is no call.
	serve func(s *Service, w http.ResponseWriter, r *http.Request)
}

// router finds a path: those without an id by their text, the others by what stands before and after it. http.ServeMux would
// answer with pages and redirections of its own.
type router struct {
	fixed map[string]*place
	named []*place
}

func (t *router) add(name, path string, of method) {
	of.name = name
	before, after, hasID := strings.Cut(path, "{id}")
	var at *place
	if !hasID {
		if at = t.fixed[path]; at == nil {
			at = &place{before: path}
			t.fixed[path] = at
		}
	} else {
		for _, known := range t.named {
			if known.before == before && known.after == after {
				at = known
			}
		}
		if at == nil {
			at = &place{before: before, after: after}
			t.named = append(t.named, at)
		}
	}
	at.methods = append(at.methods, of)
	if len(at.allow) == 0 {
		at.allow = []string{name}
	} else {
		at.allow = []string{at.allow[0] + ", " + name}
	}
}

// find looks up a path; none where nothing is there. The id is the segment in its place.
func (t *router) find(path string) (at *place, id string) {
	if at := t.fixed[path]; at != nil {
		return at, ""
	}
	for _, at := range t.named {
		if len(path) > len(at.before)+len(at.after) && strings.HasPrefix(path, at.before) && strings.HasSuffix(path, at.after) {
			if id := path[len(at.before) : len(path)-len(at.after)]; strings.IndexByte(id, '/') < 0 {
				return at, id
			}
		}
	}
	return nil, ""
}

func (p *place) method(name string) *method {
	for at := range p.methods {
		if p.methods[at].name == name {
			return &p.methods[at]
		}
	}
	return nil
}

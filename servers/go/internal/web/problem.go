package web

import (
	"strconv"

	"stackmark/net-http/internal/engine"
	"stackmark/net-http/internal/jsontext"
	"stackmark/net-http/internal/strictjson"
)

// Problem is an answer other than an outcome (RFC 9457).
type Problem struct {
	// Type is without what all types begin with.
	Type, Title string
	Status      int
	// Detail is for the client, and holds nothing of the server's inside.
	Detail string
	// Unsure where it may have been applied.
	Unsure bool
	Reason string
	// Remaining is how much is left of what was asked for, under the name RemainingField.
	Remaining      *int64
	RemainingField string
	// close where the rest of the request will not be read.
	close bool
}

// Those that are always the same.
var (
	unknownPath = &Problem{Type: "unknown-path", Title: "unknown path", Status: 404,
		Detail: "nothing is served at this path; the contract lists what is"}
	methodNotAllowed = &Problem{Type: "method-not-allowed", Title: "method not allowed", Status: 405,
		Detail: "this path exists with another method; see the allow header"}
	bodyTooSlow = &Problem{Type: "too-slow", Title: "body too slow", Status: 408, Detail: "the body did not arrive in time", close: true}
	bodyBroken  = &Problem{Type: "malformed", Title: "malformed call", Status: 400,
		Detail: "the body ended before it was complete, or its framing is broken", close: true}
	bodyTooLarge = &Problem{Type: "too-large", Title: "body too large", Status: 413,
		Detail: "the body is over " + strconv.Itoa(bodyBytesMax) + " bytes", close: true}
	unsupportedType = &Problem{Type: "unsupported-type", Title: "unsupported content type", Status: 415,
		Detail: "the content type must be application/json, once, and in no other charset than utf-8"}
	malformedRequest = &Problem{Type: "malformed", Title: "malformed request", Status: 400,
		Detail: "the request is not HTTP/1.1 with one host header, and a head of at most 32 KiB", close: true}
)

// Malformed is a call that is no JSON.
func Malformed(detail string) *Problem {
	return &Problem{Type: "malformed", Title: "malformed call", Status: 400, Detail: detail}
}

// Invalid is a call of another shape, or with a number out of its range.
func Invalid(detail string) *Problem {
	return &Problem{Type: "invalid", Title: "invalid call", Status: 422, Detail: detail}
}

// UnknownID is an id that names nothing.
func UnknownID(detail string) *Problem {
	return &Problem{Type: "unknown-id", Title: "unknown id", Status: 404, Detail: detail}
}

// Unconditional is a change that does not say of which version.
func Unconditional(detail string) *Problem {
	return &Problem{Type: "unconditional", Title: "unconditional change", Status: 428, Detail: detail}
}

// Declined is a call to which the workload's rules say no.
func Declined(status int, kind, title string) *Problem {
	return &Problem{Type: kind, Title: title, Status: status, Detail: "the call was declined, and changed nothing"}
}

// Unread is a body that was not read.
func Unread(err *strictjson.Error) *Problem {
	if err.Malformed {
		return Malformed(err.Detail)
	}
	return Invalid(err.Detail)
}

// problemOf has the client's words for a fault.
func problemOf(fault *engine.Fault) *Problem {
	switch fault.Class {
	case engine.Conflict:
		return &Problem{Type: "conflict", Title: "conflict", Status: 409, Reason: fault.Reason,
			Detail: "the engine refused every attempt; repeating is safe"}
	case engine.Refused:
		detail := "the call was not attempted; trying again later may help"
		if fault.Detail != "" {
			detail = fault.Detail
		}
		return &Problem{Type: "refused", Title: "refused", Status: 503, Reason: fault.Reason, Detail: detail}
	case engine.InDoubt:
		status := 500
		if fault == engine.Deadline {
			status = 504
		}
		return &Problem{Type: "in-doubt", Title: "in doubt", Status: status, Reason: fault.Reason, Unsure: true,
			Detail: "the call may or may not have been applied"}
	case engine.Unknown:
		return UnknownID(fault.Detail)
	}
	return &Problem{Type: "defect", Title: "defect", Status: 500, Unsure: true, Detail: "internal error; see the server log"}
}

func (p *Problem) append(into []byte) []byte {
	into = append(into, `{"type":"urn:stackmark:problem:`...)
	into = append(into, p.Type...)
	into = append(into, `","title":`...)
	into = jsontext.AppendText(into, p.Title)
	into = append(into, `,"status":`...)
	into = strconv.AppendInt(into, int64(p.Status), 10)
	into = append(into, `,"detail":`...)
	into = jsontext.AppendText(into, p.Detail)
	if p.Unsure {
		into = append(into, `,"applied":"unknown"`...)
	} else {
		into = append(into, `,"applied":"no"`...)
	}
	if p.Reason != "" {
		into = append(into, `,"reason":"`...)
		into = append(into, p.Reason...)
		into = append(into, '"')
	}
	if p.Remaining != nil {
		into = append(append(append(into, `,"`...), p.RemainingField...), `":`...)
		into = strconv.AppendInt(into, *p.Remaining, 10)
	}
	return append(into, '}')
}

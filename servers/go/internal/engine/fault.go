package engine

import "fmt"

// Class is how a fault is answered.
type Class int

const (
	// Conflict: nothing was applied, and another attempt may succeed.
	Conflict Class = iota
	// Refused: nothing was applied, and trying again later may help.
	Refused
	// InDoubt: it may have been applied or not.
	InDoubt
	// Defect: a bug, or data that is broken.
	Defect
	// Unknown: what the call names is not there, which only the data could tell.
	Unknown
)

// Fault is why a call has no outcome.
type Fault struct {
	Class Class
	// Reason is the contract's word for it: `deadlock`, `unreachable`.
	Reason string
	// Detail is for the log; of what is Refused or Unknown it is for the client too.
	Detail string
}

func (f *Fault) Error() string {
	if f.Detail == "" {
		return f.Reason
	}
	return fmt.Sprintf("%s: %s", f.Reason, f.Detail)
}

// Faults that engines share.
var (
	Busy             = &Fault{Class: Conflict, Reason: "busy"}
	Deadlock         = &Fault{Class: Conflict, Reason: "deadlock"}
	Serialization    = &Fault{Class: Conflict, Reason: "serialization"}
	NoSession        = &Fault{Class: Refused, Reason: "no-session"}
	QueueFull        = &Fault{Class: Refused, Reason: "queue-full"}
	Shedding         = &Fault{Class: Refused, Reason: "shedding"}
	Unreachable      = &Fault{Class: Refused, Reason: "unreachable"}
	CommitUnanswered = &Fault{Class: InDoubt, Reason: "commit-unanswered"}
	ConnectionLost   = &Fault{Class: InDoubt, Reason: "connection-lost"}
	Deadline         = &Fault{Class: InDoubt, Reason: "deadline"}
)

// Unwritable is an engine that takes no writes, in its own words.
func Unwritable(said string) *Fault {
	return &Fault{Class: Refused, Reason: "unwritable", Detail: said}
}

// Defective is a bug, or broken data.
func Defective(format string, values ...any) *Fault {
	return &Fault{Class: Defect, Reason: "defect", Detail: fmt.Sprintf(format, values...)}
}

// NotThere is a name for which the data has nothing.
func NotThere(format string, values ...any) *Fault {
	return &Fault{Class: Unknown, Reason: "unknown-id", Detail: fmt.Sprintf(format, values...)}
}

// Lost is the fault of a connection that broke. What only reads has applied nothing, and what had not begun neither.
func Lost(kind Kind, begun, atCommit bool) *Fault {
	switch {
	case kind.Reads() || !begun:
		return Unreachable
	case atCommit:
		return CommitUnanswered
	}
	return ConnectionLost
}

// Spoils tells whether the connection may be in the middle of something, or hold an answer that nobody waits for.
func (f *Fault) Spoils() bool {
	return f.Class == InDoubt || f.Class == Defect || f == Unreachable
}

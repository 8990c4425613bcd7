package transfer

import "fmt"

// Stores say which accounts each of them holds: the map that every call is routed by.
type Stores struct {
	// first and last account of each, in the order of the stores.
	ranges [][2]int64
	// scale is in branches.
	scale int64
}

// Directions is in how many ways something can go from one store to another.
func (s *Stores) Directions() int { return len(s.ranges) * (len(s.ranges) - 1) }

// NewStores makes the map of what each store has answered to Questions.
func NewStores(answers [][]int64) (*Stores, error) {
	stores := &Stores{}
	next := int64(1)
	for at, of := range answers {
		first, last := of[0], of[1]
		if first != next || last < first {
			return nil, fmt.Errorf("shard-%d holds the accounts %d to %d, and those from %d on belong there", at, first, last, next)
		}
		stores.ranges, stores.scale, next = append(stores.ranges, [2]int64{first, last}), stores.scale+of[2], last+1
	}
	return stores, nil
}

// Scale is that of all stores together.
func (s *Stores) Scale() int64 { return s.scale }

// last account of all.
func (s *Stores) last() int64 { return s.ranges[len(s.ranges)-1][1] }

// of is the store of an account, and of one that does not exist any of those that do.
func (s *Stores) of(account int64) int {
	for at := range s.ranges {
		if account <= s.ranges[at][1] {
			return at
		}
	}
	return 0
}

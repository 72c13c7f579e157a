package storetest

import (
	"fmt"
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// cycle grants a worker ID to an identity, and gives it back.
func (r *rig) cycle(worker int, identity string) {
	r.Helper()
	s := r.open(fmt.Sprint(identity, " ", r.now))
	sv := s.find()
	probed, err := s.Probe(r.Context(), []int{worker})
	if err != nil || probed[0].Err != nil {
		r.Fatalf("a probe of worker ID %d: %+v, %v", worker, probed, err)
	}
	v := s.done(r.grantTo(r.request(s.token), sv.Meta, probed[0].Slot, worker))
	s.done(releaseOf(v))
	s.End()
}

// last returns the worker ID that an identity had last, as a survey tells it.
func (r *rig) last(identity string) int {
	r.Helper()
	s := r.open(fmt.Sprint(identity, " ", r.now))
	defer s.End()
	return s.find().Last
}

func moved(r *rig) {
	for _, step := range []struct {
		worker   int
		identity string // that has it now
		a, b     int    // what a and b had last then
	}{
		{3, "a", 3, -1},
		{4, "a", 4, -1},
		{3, "b", 4, 3}, // a has moved on
		{4, "b", -1, 4},
		{4, "a", 4, -1},
		{4, "", -1, -1},
	} {
		r.cycle(step.worker, step.identity)
		if a, b := r.last("a"), r.last("b"); a != step.a || b != step.b && !(step.b == -1 && b == 3) {
			r.Errorf("after %q had worker ID %d, the last of a is %d and of b %d; want %d and %d",
				step.identity, step.worker, a, b, step.a, step.b)
		}
	}
}

func bounded(r *rig) {
	const few, most = 4, 20
	cycles := 1000
	if testing.Short() {
		cycles = 100
	}
	for i := range cycles {
		r.cycle(i%few, fmt.Sprint("orders-", i))
	}
	if n := r.Count(r); n > most {
		safetytest.Of(r).Errorf(
			"%d cycles with new identities on %d worker IDs have left %d behind; at most %d are allowed",
			cycles, few, n, most)
	}
	for i := cycles - few - 1; i < cycles; i++ {
		want := i % few
		if i < cycles-few {
			want = -1
		}
		if got := r.last(fmt.Sprint("orders-", i)); got != want {
			r.Errorf("identity %d of %d had worker ID %d last; want %d", i, cycles, got, want)
		}
	}
}

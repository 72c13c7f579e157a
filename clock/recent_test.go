package clock

import (
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
)

func at(count uint64) func() uint64 { return func() uint64 { return count } }

func TestRecent(t *testing.T) {
	const count, reading = 1 << 40, 77
	var r recent
	if _, ok := r.load(at(count)); ok {
		t.Error("something is recent before anything was stored")
	}
	r.store(count, reading)
	for _, tt := range []struct {
		name string
		now  uint64
		want bool
	}{
		{"at once", count, true},
		{"at the end of its time", count + recentCycles - 1, true},
		{"a cycle later", count + recentCycles, false},
		{"long after", count + 1<<50, false},
		{"on a counter that is behind", count - 1, false},
		{"on a counter that was reset", 2, false},
	} {
		if got, ok := r.load(at(tt.now)); ok != tt.want || ok && got != reading {
			t.Errorf("%s: load is %d, %v; want %d, %v", tt.name, got, ok, reading, tt.want)
		}
	}
}

// TestRecentIsNotOlderThanItSeems: the time that a reading takes, in which a goroutine
// may be preempted, belongs to its age.
func TestRecentIsNotOlderThanItSeems(t *testing.T) {
	now := uint64(1 << 40)
	count := func() uint64 { return now }
	var r recent
	if got := r.take(count, func() int64 {
		now += recentCycles
		return 77
	}); got != 77 {
		t.Errorf("take is %d, want 77", got)
	}
	if _, ok := r.load(count); ok {
		t.Errorf("a reading that was begun %d cycles ago is recent", recentCycles)
	}
	now--
	if got, ok := r.load(count); !ok || got != 77 {
		t.Errorf("a cycle earlier: %d, %v; want 77, true", got, ok)
	}
}

// TestRecentWhileStoring: nobody uses a reading that is just being replaced, and
// nobody else replaces it.
func TestRecentWhileStoring(t *testing.T) {
	const count = 1 << 40
	var r recent
	r.store(count, 1)
	if _, ok := r.load(func() uint64 {
		r.store(count+1, 2) // between the two looks at the version
		return count + 1
	}); ok {
		t.Error("a reading was used though it was replaced meanwhile")
	}
	r.at.Store(storing) // somebody is in the middle of it
	if _, ok := r.load(at(count + 1)); ok {
		t.Error("a reading was used that is being replaced")
	}
	r.store(count+2, 3)
	if r.at.Load() != storing || r.micro.Load() != 2 {
		t.Error("two have stored at the same time")
	}
}

// TestRecentConcurrently: a reading always belongs to its count. Readings here are
// their counts.
func TestRecentConcurrently(t *testing.T) {
	var r recent
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range uint64(200_000) {
				count := 1<<40 + 4*n*recentCycles + uint64(i)*recentCycles
				r.store(count, int64(count))
				now := count
				got, ok := r.load(func() uint64 { now = max(now, r.at.Load()); return now })
				if ok && uint64(got) != now {
					safetytest.Of(t).Errorf("the reading %d was used at the count %d", got, now)
					return
				}
			}
		})
	}
	all.Wait()
}

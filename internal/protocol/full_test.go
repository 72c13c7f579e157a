package protocol

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
)

// TestSoonest: when leases end, as it is seen from look to look, where the back end does
// not tell.
func TestSoonest(t *testing.T) { synctest.Test(t, soonest) } // time stands still

func soonest(t *testing.T) {
	t.Helper()
	const second = 1_000_000
	a := &acquisition{Coordinator: &Coordinator{looked: map[int]lastLook{}}}
	lease := func(worker int, renewed int64) Lease {
		return Lease{Worker: worker, Mark: fmt.Sprint(renewed), Renewed: renewed * second, TTL: 10 * time.Second, Left: -1}
	}
	for _, tt := range []struct {
		name            string
		now, want, seen int64
		held            []Lease
		anew            bool // by another process
	}{
		{"the first look", 100, 105, 95, []Lease{lease(1, 97), lease(2, 95)}, false},
		{"nothing was renewed", 101, 105, 95, []Lease{lease(1, 97), lease(2, 95)}, false},
		{"one was", 102, 107, 97, []Lease{lease(1, 97), lease(2, 102)}, false},
		{"the servers were away, and leases begin anew", 150, 160, 0, []Lease{lease(1, 97), lease(2, 102)}, true},
		{"nobody renews", 151, 160, 0, []Lease{lease(1, 97), lease(2, 102)}, false},
		{"one is gone, another lives", 152, 160, 0, []Lease{lease(2, 102), lease(3, 152)}, false},
		{"all live", 153, 162, 152, []Lease{lease(2, 153), lease(3, 152)}, false},
		{"longer than it should", 170, 180, 0, []Lease{lease(2, 153), lease(3, 152)}, true},
	} {
		if tt.anew {
			a.looked = map[int]lastLook{}
		}
		a.asked, a.began = tt.now*second, lifetime.Now()
		full := &coord.NoWorkerIDError{}
		for _, l := range tt.held {
			if end, renewed := a.endOf(l); full.Soonest.IsZero() || end.Before(full.Soonest) {
				full.Soonest, full.LastSeen = end, renewed
			}
		}
		if !full.Soonest.Equal(Time(tt.want * second)) {
			t.Errorf("%s: at %d; want %d", tt.name, full.Soonest.Unix(), tt.want)
		}
		if full.LastSeen.IsZero() != (tt.seen == 0) || tt.seen != 0 && full.LastSeen.Unix() != tt.seen {
			t.Errorf("%s: last seen at %v; want %d", tt.name, full.LastSeen, tt.seen)
		}
	}
}

// TestEndThatIsTold: where the back end tells when a lease ends, that is not reckoned, and
// stays the same while the holder shows no life.
func TestEndThatIsTold(t *testing.T) { synctest.Test(t, endThatIsTold) } // time stands still

func endThatIsTold(t *testing.T) {
	t.Helper()
	const second = 1_000_000
	a := &acquisition{Coordinator: &Coordinator{looked: map[int]lastLook{}}}
	for _, tt := range []struct {
		name string
		now  int64
		mark string
		left time.Duration
		want int64
	}{
		{"the first look", 100, "a", 10 * time.Second, 110},
		{"told in whole seconds", 101, "a", 11 * time.Second, 110},
		{"begun anew with the back end", 105, "a", 15 * time.Second, 120},
		{"renewed", 106, "b", 15 * time.Second, 121},
	} {
		a.asked, a.began = tt.now*second, lifetime.Now()
		end, renewed := a.endOf(Lease{Worker: 1, Mark: tt.mark, Renewed: 90 * second, TTL: 15 * time.Second, Left: tt.left})
		if end.Unix() != tt.want || renewed.Unix() != 90 {
			t.Errorf("%s: at %d, last seen at %d; want %d, 90", tt.name, end.Unix(), renewed.Unix(), tt.want)
		}
	}
}

// TestDuring: of a clock, what it says now counts for the time of a survey.
func TestDuring(t *testing.T) {
	sv := &Survey{began: lifetime.Now().Add(-3 * time.Second), ended: lifetime.Now().Add(-time.Second)}
	span := sv.during(100_000_000)
	if width := span.High - span.Low; width < 1_900_000 || width > 2_100_000 {
		t.Errorf("a survey of 2 s: %d", width)
	}
	if span.High > 99_000_000 || span.Low > 97_000_000 {
		t.Errorf("a survey that ended a second ago was made %v, by a clock that says 100 s", span)
	}
}

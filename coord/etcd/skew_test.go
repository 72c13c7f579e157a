package etcd_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/etcd"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// TestClockSkew: a newcomer's clock is compared with those of the holders, if there
// are two or more of them.
func TestClockSkew(t *testing.T) {
	server := etcdtest.Start(t)
	const year = 365 * 24 * time.Hour
	for _, tc := range []struct {
		name    string
		off     time.Duration
		peers   int
		refused bool
	}{
		{"right", 0, 5, false},
		{"a little behind", -500 * time.Millisecond, 5, false},
		{"behind", -time.Minute, 5, true}, // also when the request waits for a processor
		{"far behind", -year, 2, true},
		// A holder's last renewal may be as old as its TTL.
		{"ahead by less than a TTL", 10 * time.Second, 5, false},
		{"ahead", 30 * time.Second, 5, true},
		{"far ahead", 10 * year, 2, true},
		{"far ahead of nobody", 10 * year, 0, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCoordinator(t, server.Client(t), rand.Text(), nil)
			for range tc.peers {
				mustAcquire(t, c, request(capacity))
			}
			g, err := c.Acquire(within(t), at(tc.off))
			if !tc.refused {
				if err != nil {
					t.Fatalf("a clock that is off by %v, with %d holders: %v", tc.off, tc.peers, err)
				}
				return
			}
			var skew *coord.ClockSkewError
			if !errors.Is(err, coord.ErrClockSkew) || !errors.As(err, &skew) {
				t.Fatalf("a clock that is off by %v, with %d holders: %v, %v; want %v", tc.off, tc.peers, g, err, coord.ErrClockSkew)
			}
			if off := time.Until(skew.Local) - tc.off; off.Abs() > callTime || skew.Max != etcd.DefaultSkewBound {
				t.Errorf("the error is %#v; the clock was off by %v", skew, tc.off)
			}
			// The slots are as they were: nothing was pushed into the future.
			if h := mustAcquire(t, c, request(capacity)); h.NotBefore > tickNow() {
				t.Errorf("after the refusal %v was granted", h)
			}
		})
	}
}

// TestOneWrongPeer: one holder whose clock is wrong keeps nobody from starting whose clock is
// right.
func TestOneWrongPeer(t *testing.T) {
	server := etcdtest.Start(t)
	ns := rand.Text()
	wrong := newCoordinator(t, server.Client(t), ns, nil)
	mustAcquire(t, wrong, at(1000*time.Hour)) // nobody to compare with
	c := newCoordinator(t, server.Client(t), ns, nil)
	for range 2 {
		mustAcquire(t, c, request(capacity))
	}
	mustAcquire(t, c, request(capacity))
}

// TestRenewalsTellTheTime: what counts is the clock at the last renewal, of the
// coordinator's own clock.
func TestRenewalsTellTheTime(t *testing.T) {
	server := etcdtest.Start(t)
	ns := rand.Text()
	shifted := clocktest.NewShifted(time.Now())
	c := newCoordinator(t, server.Client(t), ns, &etcd.Options{Clock: shifted, SkewBound: 3 * time.Second})
	grants := []coord.Grant{mustAcquire(t, c, request(capacity)), mustAcquire(t, c, request(capacity))}
	shifted.Step(time.Hour)
	if g, err := c.Acquire(within(t), at(time.Hour)); !errors.Is(err, coord.ErrClockSkew) {
		t.Fatalf("ahead of the holders' last renewals: %v, %v; want %v", g, err, coord.ErrClockSkew)
	}
	for _, g := range grants {
		if _, err := c.Renew(within(t), g, g.NotAfter+time.Hour.Milliseconds()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Acquire(within(t), at(time.Hour)); err != nil {
		t.Errorf("together with the holders: %v", err)
	}
	if g, err := c.Acquire(within(t), request(capacity)); !errors.Is(err, coord.ErrClockSkew) {
		t.Errorf("behind the holders: %v, %v; want %v", g, err, coord.ErrClockSkew)
	}
}

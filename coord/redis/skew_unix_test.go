//go:build unix

package redis_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestClockSkew: a newcomer's clock is compared with the server's, and one that is
// refused leaves nothing behind.
func TestClockSkew(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	const year = 365 * 24 * time.Hour
	for _, tc := range []struct {
		off     time.Duration
		refused bool
	}{
		{0, false},
		{-500 * time.Millisecond, false}, // and half a second for the request
		{500 * time.Millisecond, false},
		{-10 * time.Second, true},
		{10 * time.Second, true},
		{10 * year, true},
		{-2 * year, true},
	} {
		ns := rand.Text()
		c := newCoordinator(t, client, ns, &redis.Options{})
		acquire := func() (req coord.Request, g coord.Grant, err error) {
			req = request(1)
			for _, tick := range []*int64{&req.Now, &req.Until, &req.OpenBy} {
				*tick += tc.off.Milliseconds()
			}
			g, err = c.Acquire(within(t), req)
			return req, g, err
		}
		began := time.Now().Truncate(time.Microsecond)
		req, g, err := acquire()
		var skew *coord.ClockSkewError
		switch {
		case !tc.refused:
			for err != nil && strings.Contains(err.Error(), "too old; try again") { // the request waited for a processor
				_, _, err = acquire()
			}
			if err != nil {
				t.Errorf("a clock that is off by %v: %v", tc.off, err)
			}
		case !errors.As(err, &skew):
			t.Errorf("a clock that is off by %v: %v, %v; want %v", tc.off, g, err, coord.ErrClockSkew)
		case skew.Local.UnixMicro() != scale().Micro(req.Now) || skew.Reference.Before(began) || skew.Reference.After(time.Now()):
			t.Errorf("a clock that said %v at a time from %v to %v: %v", time.UnixMicro(scale().Micro(req.Now)).UTC(), began, time.Now(), err)
		}
		if n, err := client.Exists(within(t), slots(ns)).Result(); err != nil || (n == 1) == tc.refused {
			t.Errorf("a clock that is off by %v has left %d namespaces, %v", tc.off, n, err)
		}
	}
}

// noticed is a clock that stands still and tells when it was read.
type noticed struct {
	*clocktest.Manual
	read chan struct{}
}

func (n noticed) UnixMicro() int64 {
	select {
	case n.read <- struct{}{}:
	default:
	}
	return n.Manual.UnixMicro()
}

// TestSlowRequestIsNoSkew: a request that was long on its way has an old clock reading,
// not a wrong clock. It is made once more, and may take as long again.
func TestSlowRequestIsNoSkew(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	// By a clock of its own the call begins with the request, however slow the machine is.
	own := noticed{clocktest.NewManual(time.Now()), make(chan struct{}, 1)}
	c := newCoordinator(t, client, newNamespace(t, client, layout), &redis.Options{Clock: own})
	server.Freeze(t)
	done := make(chan error, 1)
	req := request(1)
	req.Now = scale().Tick(own.Manual.UnixMicro())
	go func() { _, err := c.Acquire(within(t), req); done <- err }()
	<-own.read
	eventually(t, "more than the skew bound passes", func() bool { return tickNow() > req.Now+1300 })
	own.Advance(callTime)
	server.Thaw(t)
	if err := <-done; err != nil {
		t.Errorf("Acquire of a request that took 1.3 s: %v", err)
	}
}

// TestClocksAgreeOnAQuarantine: how long a quarantine takes, a server's clock decides.
// One that is far from the holders' does not.
func TestClocksAgreeOnAQuarantine(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	ns := newNamespace(t, client, layout)
	right := newCoordinator(t, client, ns, nil)
	g := mustAcquire(t, right, request(1))
	meta := stored(t, client, ns, "meta")
	at := strings.Index(meta, `"lineage":"`) + len(`"lineage":"`)
	moved := meta[:at] + strings.Repeat("0", 40) + meta[at+40:]
	store(t, client, ns, "meta", moved)
	for _, off := range []time.Duration{-time.Hour, time.Hour} {
		c := newCoordinator(t, client, ns, &redis.Options{Clock: clocktest.NewManual(time.Now().Add(off))})
		_, renewed := c.Renew(within(t), g, g.NotAfter+1)
		_, quarantined := c.Quarantine(within(t), time.Time{})
		for what, err := range map[string]error{
			"Renew": renewed, "Quarantine": quarantined, "Release": c.Release(within(t), g, g.NotBefore), "Init": c.Init(within(t), space()),
		} {
			var skew *coord.ClockSkewError
			if !errors.As(err, &skew) || skew.Local.Sub(skew.Reference).Round(time.Minute) != off {
				t.Errorf("%s at another server whose clock differs by %v: %v; want %v", what, off, err, coord.ErrClockSkew)
			}
		}
		if now := stored(t, client, ns, "meta"); now != moved {
			t.Errorf("a server whose clock differs by %v has written %s", off, now)
		}
	}
	if h, err := right.Renew(within(t), g, g.NotAfter+1); !errors.Is(err, coord.ErrQuarantined) {
		t.Errorf("Renew at another server: %v, %v; want %v", h, err, coord.ErrQuarantined)
	}
}

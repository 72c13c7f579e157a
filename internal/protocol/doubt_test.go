package protocol_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestDoubtIsNoSettlement: a process that lowers a floor which it has raised too far does not
// do away with what shows others that writes were lost.
func TestDoubtIsNoSettlement(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		far := &shifted{10 * time.Minute}
		p, st := tap(t, server, far)
		others := make([]*protocol.Coordinator, 2)
		grants := make([]coord.Grant, 2)
		var err error
		restore := server.Snapshot() // nothing
		g, err := p.Acquire(t.Context(), func() coord.Request {
			r := wants("p")
			r.Now += 600_000
			r.Until += 600_000
			r.OpenBy += 600_000
			return r
		}())
		if err != nil {
			t.Fatal(err)
		}
		restore()
		_ = p.Release(t.Context(), g, g.NotBefore) // raises the floor, with a wrong clock
		if server.Meta().Loss.Nonce == "" {
			t.Fatal("the loss was not noticed")
		}
		for i := range others {
			others[i], _ = tap(t, server, nil)
			if grants[i], err = others[i].Acquire(t.Context(), wants(string(rune('0'+i)))); err != nil {
				t.Fatal(err)
			}
		}
		restore = server.Snapshot()
		x, _ := tap(t, server, nil)
		lost, err := x.Acquire(t.Context(), wants("x"))
		if err != nil {
			t.Fatal(err)
		}
		restore()
		server.Move("b")
		// The process dies as soon as it has written something.
		dead := errors.New("dead")
		written := false
		st.tap = func(call string, answered bool) error {
			if written {
				return dead
			}
			written = call == "commit" && answered
			return nil
		}
		before := server.Meta()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = p.Acquire(ctx, wants("q"))
		t.Logf("%v; floor %d, was %d; lost %v", err, server.Meta().Floor, before.Floor, lost)
		fresh, _ := tap(t, server, nil)
		h, err := fresh.Acquire(t.Context(), wants("fresh"))
		if err != nil {
			t.Fatal(err)
		}
		if server.Meta().Loss.Nonce == before.Loss.Nonce {
			t.Errorf("nobody has noticed the loss of %v: granted was %v", lost, h)
		}
	})
}

// TestDoubtAfterALostRaise: the answer to the write that raises the floor is lost, and so the
// loss counts as not dealt with. The one who has raised it, with a wrong clock, lowers it
// all the same.
func TestDoubtAfterALostRaise(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		right := make([]*protocol.Coordinator, 2)
		grants := make([]coord.Grant, 2)
		var err error
		for i := range right {
			right[i], _ = tap(t, server, nil)
			if grants[i], err = right[i].Acquire(t.Context(), wants(string(rune('0'+i)))); err != nil {
				t.Fatal(err)
			}
		}
		restore := server.Snapshot()
		wrong, far := &shifted{}, 24*time.Hour
		p, st := tap(t, server, wrong)
		g, err := p.Acquire(t.Context(), wants("p"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		restore()
		wrong.by = far
		st.tap = func(call string, answered bool) error {
			if call == "commit" && answered && server.Meta().Floor > 0 {
				st.tap = nil
				return errors.New("the answer is lost")
			}
			return nil
		}
		if _, err := p.Renew(t.Context(), g, g.NotAfter+1); err == nil || st.tap != nil {
			t.Fatalf("Renew: %v", err)
		}
		high := server.Meta().Floor
		for i := range right {
			time.Sleep(time.Second)
			if _, err := right[i].Renew(t.Context(), grants[i], grants[i].NotAfter+1); err != nil && !errors.Is(err, coord.ErrQuarantined) {
				t.Fatal(err)
			}
		}
		if server.Meta().Floor != high {
			t.Fatal("somebody else has lowered it")
		}
		req := wants("q")
		req.Now, req.Until = req.Now+far.Milliseconds(), req.Until+far.Milliseconds()
		if h, err := p.Acquire(t.Context(), req); !errors.Is(err, coord.ErrClockSkew) {
			t.Errorf("Acquire with a wrong clock: %v, %v", h, err)
		}
		if floor := server.Meta().Floor; floor > wants("").Now+200_000 || floor < g.NotAfter {
			t.Errorf("the floor is %d and was %d; now is %d", floor, high, wants("").Now)
		}
	})
}

package protocol_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// TestWaitingWritesNothing: whoever waits for a worker ID, or for the layout of another program,
// writes nothing, and gets the first that is free.
func TestWaitingWritesNothing(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		holder, waits := process(t, server), process(t, server)
		one := coord.Range{Count: 1}
		g := mustAcquire(t, holder, within("holder", one))
		other := within("layout", one)
		other.Fingerprint = "another"
		full := within("full", one)
		var before int64
		for n := range 5 {
			if _, err := waits.Acquire(t.Context(), full); !errors.Is(err, coord.ErrNoWorkerID) {
				t.Fatal(err)
			}
			if _, err := waits.Acquire(t.Context(), other); !errors.Is(err, coord.ErrLayoutMismatch) {
				t.Fatal(err)
			}
			if n == 0 {
				before = server.State().Number
			}
			time.Sleep(15 * time.Second) // the longest pause of a keeper
			g = mustRenew(t, holder, g, 1)
			before++
		}
		if now := server.State().Number; now != before {
			t.Errorf("%d writes by those who wait", now-before)
		}
		freed := make(chan bool)
		go func() { freed <- waits.AwaitFree(t.Context(), full) }()
		time.Sleep(time.Second)
		if err := holder.Release(t.Context(), g, g.NotBefore); err != nil {
			t.Fatal(err)
		}
		if !<-freed {
			t.Error("nothing reports that the worker ID is free")
		}
		mustAcquire(t, waits, full)
	})
}

// TestMustOpen: what is granted opens in time, or nothing is granted and nothing written.
func TestMustOpen(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		c := process(t, server)
		two := coord.Range{Count: 2}
		for _, token := range []string{"a", "b"} {
			g := mustAcquire(t, c, within(token, two))
			if err := c.Release(t.Context(), g, g.NotAfter); err != nil {
				t.Fatal(err)
			}
		}
		soon := within("c", two)
		soon.MustOpen = true
		before := server.State().Number
		_, err := c.Acquire(t.Context(), soon)
		full, ok := errors.AsType[*coord.NoWorkerIDError](err)
		if opens := space.Scale.Micro(soon.Until + 1); !ok || full.Soonest.UnixMicro() != opens {
			t.Fatalf("windows open later: %v", err)
		}
		if now := server.State().Number; now != before {
			t.Errorf("%d writes for nothing", now-before)
		}
		three := within("c", coord.Range{Count: 3})
		three.MustOpen = true
		if g := mustAcquire(t, c, three); g.WorkerID != 2 || g.NotBefore > three.OpenBy {
			t.Errorf("granted is %v", g)
		}
		if _, err := c.Quarantine(t.Context(), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		three.Token = "d"
		if _, err := c.Acquire(t.Context(), three); !errors.Is(err, coord.ErrQuarantined) {
			t.Errorf("below a floor: %v", err)
		}
	})
}

// TestMustOpenThatSomebodyTakes: a worker ID is used between the look at its window and the grant.
func TestMustOpenThatSomebodyTakes(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		c, st := tap(t, server, nil)
		other := process(t, server)
		one := coord.Range{Count: 1}
		g := mustAcquire(t, other, within("first", one))
		if err := other.Release(t.Context(), g, g.NotBefore); err != nil {
			t.Fatal(err)
		}
		surveys := 0
		st.tap = func(call string, answered bool) error {
			if call != "survey" || answered {
				return nil
			}
			if surveys++; surveys != 2 { // the second one follows the peek
				return nil
			}
			g := mustAcquire(t, other, within("other", one))
			return other.Release(t.Context(), g, g.NotAfter)
		}
		req := within("c", one)
		req.MustOpen = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if g, err := c.Acquire(ctx, req); !errors.Is(err, coord.ErrNoWorkerID) {
			t.Errorf("granted is %v, %v", g, err)
		}
	})
}

// TestMustOpen_NamespaceIsGone: the look before the survey finds no namespace, because all data
// were lost. The survey makes it again, and the worker ID is looked for once more.
func TestMustOpen_NamespaceIsGone(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		req := within("c", coord.Range{Count: 1})
		req.MustOpen = true
		mustAcquire(t, process(t, memstore.NewServer("a")), req)
	})
}

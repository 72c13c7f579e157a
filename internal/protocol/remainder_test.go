package protocol_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
	"github.com/unalike-id/unalike/internal/remainder"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestRemainder: what the error of a lost grant allows. Every case but the first breaks one of the
// conditions.
func TestRemainder(t *testing.T) {
	one := coord.Range{Count: 1}
	deleted := func(_ testing.TB, server *memstore.Server, _ *protocol.Coordinator) { server.Delete() }
	for name, tt := range map[string]struct {
		remembers bool // the back end does not forget
		lose      func(tb testing.TB, server *memstore.Server, other *protocol.Coordinator)
		noHandle  bool
		allowed   bool
	}{
		"all was lost": {
			lose: deleted, allowed: true,
		},
		"the back end does not forget": {
			remembers: true, lose: deleted,
		},
		"the process did not know the grant": {
			noHandle: true,
			lose: func(tb testing.TB, server *memstore.Server, other *protocol.Coordinator) {
				tb.Helper()
				if _, err := other.List(tb.Context()); err != nil { // so that it notices the loss
					tb.Fatal(err)
				}
				server.Delete()
			},
		},
		"nothing was lost": {
			lose: func(tb testing.TB, server *memstore.Server, other *protocol.Coordinator) {
				tb.Helper()
				server.Expire(0)
				mustAcquire(tb, other, within("other", one))
			},
		},
		"the slot has as high a generation": {
			lose: func(tb testing.TB, server *memstore.Server, other *protocol.Coordinator) {
				tb.Helper()
				server.Delete()
				for range 3 {
					mustAcquire(tb, other, within("other", one))
					server.Expire(0)
				}
			},
		},
		"the worker ID was retired": {
			lose: func(tb testing.TB, server *memstore.Server, other *protocol.Coordinator) {
				tb.Helper()
				server.Delete()
				mustAcquire(tb, other, within("other", coord.Range{First: 1, Count: 1}))
				if err := other.Retire(tb.Context(), 0); err != nil {
					tb.Fatal(err)
				}
			},
		},
		"the namespace is closed": {
			lose: func(tb testing.TB, server *memstore.Server, other *protocol.Coordinator) {
				tb.Helper()
				server.Delete()
				mustAcquire(tb, other, within("other", coord.Range{First: 1, Count: 1}))
				end := protocol.Time(space.Scale.Micro(space.LastTick))
				if _, err := other.Quarantine(tb.Context(), end); err != nil {
					tb.Fatal(err)
				}
			},
		},
	} {
		runInOurTime(t, name, func(t *testing.T) {
			server := memstore.NewServer("a")
			var set []func(*protocol.Settings)
			if !tt.remembers {
				set = append(set, forgets)
			}
			holder, _ := tap(t, server, nil, set...)
			other, _ := tap(t, server, nil, set...)
			if err := holder.Init(t.Context(), space); err != nil {
				t.Fatal(err)
			}
			g := mustAcquire(t, holder, within("first", one))
			if err := holder.Release(t.Context(), g, g.NotBefore); err != nil {
				t.Fatal(err)
			}
			g = mustAcquire(t, holder, within("holder", one))
			time.Sleep(time.Second)
			tt.lose(t, server, other)
			if tt.noHandle {
				g.Handle = nil
				holder = other
			}
			_, err := holder.Renew(t.Context(), g, g.NotAfter+1)
			var rest *remainder.Error
			switch allowed := errors.As(err, &rest); {
			case !errors.Is(err, coord.ErrLeaseLost):
				t.Error(err)
			case allowed != tt.allowed:
				safetytest.Of(t).Errorf("a remainder is allowed: %t; want %t: %v", allowed, tt.allowed, err)
			case allowed && (rest.After != 0 || rest.Until != server.Meta().Floor ||
				!remainder.Usable(err, g.NotBefore, g.NotAfter)):
				safetytest.Of(t).Errorf("the remainder is %+v, the window %v, and the floor %d", rest, g,
					server.Meta().Floor)
			}
		})
	}
}

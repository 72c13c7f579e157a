package coordtest

import (
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// operatorsOf makes a harness of the portable coordinator over a store in memory, of
// which wrong changes something.
func operatorsOf(t *testing.T, wrong func(*protocol.Coordinator) coord.Coordinator) func() Harness {
	t.Helper()
	return func() Harness {
		server := memstore.NewServer("a")
		return Harness{Client: func(testing.TB, coord.Range) coord.Coordinator {
			c, err := protocol.New(server, protocol.Settings{
				Driver: "memory", Title: "the memory", Namespace: "orders", MinTTL: time.Second,
				MaxHorizon: 2 * time.Minute, SkewBound: time.Second, Clock: clock.System(),
			})
			if err != nil {
				t.Fatal(err)
			}
			return wrong(c)
		}}
	}
}

// Operators' coordinators that are wrong in one way each.
type (
	inits  struct{ *protocol.Coordinator }
	raises struct{ *protocol.Coordinator }
	shows  struct{ *protocol.Coordinator }
	keeps  struct{ *protocol.Coordinator }
	hides  struct{ *protocol.Coordinator }
	waits  struct{ *protocol.Coordinator }
	lowers struct{ *protocol.Coordinator }
	drops  struct{ *protocol.Coordinator }
)

func (inits) Init(context.Context, coord.Space) error { return nil }

func (raises) Quarantine(_ context.Context, until time.Time) (time.Time, error) {
	return until, nil
}

func (shows) Inspect(context.Context) (coord.Namespace, error) { return coord.Namespace{}, nil }

func (keeps) Retire(context.Context, int) error { return nil }

func (h hides) List(ctx context.Context) ([]coord.Slot, error) {
	slots, err := h.Coordinator.List(ctx)
	for i := range slots {
		slots[i].State = coord.SlotFree
	}
	return slots, err
}

func (waits) Renew(context.Context, coord.Grant, int64) (coord.Grant, error) {
	return coord.Grant{}, coord.ErrQuarantined
}

func (d drops) Init(ctx context.Context, s coord.Space) error {
	s.MaxHorizon = 0
	return d.Coordinator.Init(ctx, s)
}

func (lowers) Lower(context.Context) (time.Time, error) { return time.Time{}, nil }

// TestAdminFindsMutants runs each mutant through the case that is there for it, which
// must fail; what is right passes.
func TestAdminFindsMutants(t *testing.T) {
	mutants := map[string]func(c *protocol.Coordinator) coord.Coordinator{
		"Init":            func(c *protocol.Coordinator) coord.Coordinator { return inits{c} },
		"Inspect":         func(c *protocol.Coordinator) coord.Coordinator { return shows{c} },
		"Quarantine":      func(c *protocol.Coordinator) coord.Coordinator { return raises{c} },
		"MaxHorizon":      func(c *protocol.Coordinator) coord.Coordinator { return drops{c} },
		"NamespaceClosed": func(c *protocol.Coordinator) coord.Coordinator { return waits{c} },
		"Lower":           func(c *protocol.Coordinator) coord.Coordinator { return lowers{c} },
		"Retire":          func(c *protocol.Coordinator) coord.Coordinator { return keeps{c} },
		"List":            func(c *protocol.Coordinator) coord.Coordinator { return hides{c} },
	}
	right := func(c *protocol.Coordinator) coord.Coordinator { return c }
	for _, tc := range adminCases {
		if r := recordCase(t, tc, operatorsOf(t, right)); r.failed || r.skipped {
			t.Errorf("%s fails, or is skipped, with a coordinator that is right: %v", tc.name, r.messages)
		}
		if mutants[tc.name] == nil {
			t.Fatalf("no mutant shows that case %s can fail", tc.name)
		}
		r := recordCase(t, tc, operatorsOf(t, mutants[tc.name]))
		if !r.failed {
			t.Errorf("%s passes with a coordinator that is broken", tc.name)
		}
		t.Logf("%s: %v", tc.name, r.messages)
	}
}

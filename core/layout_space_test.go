package core_test

import (
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// TestSpace: an operator's tool declares the same namespace as a generator asks for.
func TestSpace(t *testing.T) {
	l := core.JavaScriptLayout()
	fake := newFake(0)
	g, err := core.New(t.Context(), fake.Client(), core.Config{Layout: l})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(t.Context()); err != nil {
		t.Error(err)
	}
	r := fake.CallsOf(coordtest.Acquire)[0].Request
	asked := coord.Space{
		Fingerprint: r.Fingerprint, Scale: r.Scale, LastTick: r.LastTick,
		Capacity: r.Capacity,
	}
	if got := l.Space(); got != asked || got.LastTick != 1<<41-1 || got.Capacity != 32 {
		t.Errorf("Space is %+v, and a generator asks for %+v", got, asked)
	}
}

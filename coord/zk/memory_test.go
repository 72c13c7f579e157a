package zk

import (
	"context"
	"errors"
	"testing"

	"github.com/unalike-id/unalike/internal/record"
)

// namespaceAt is a namespace as it is read.
func namespaceAt(czxid int64, version int32) stored[record.Meta] {
	return stored[record.Meta]{czxid: czxid, version: version}
}

// TestMemory: what shows that writes were lost, and what does not.
func TestMemory(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(m *memory)
		lost bool
	}{
		{"numbers rise", func(m *memory) { m.learn(m.sight(), 11, 0); m.learn(m.sight(), 12, 0) }, false},
		{"a number comes again", func(m *memory) { m.learn(m.sight(), 11, 0); m.learn(m.sight(), 11, 0) }, true},
		{"a number falls", func(m *memory) { m.learn(m.sight(), 12, 0); m.learn(m.sight(), 11, 0) }, true},
		{"a number falls below that of a ping", func(m *memory) { m.note(0, 20, 0); m.learn(m.sight(), 11, 0) }, true},
		{"answers are handled late", func(m *memory) { first := m.sight(); m.learn(m.sight(), 12, 0); m.learn(first, 11, 0) }, false},
		{"a ping of the time before", func(m *memory) { m.forgive(5, nil, 0); m.note(0, 20, 0); m.learn(m.sight(), 11, 0) }, false},
		{"a write of the time before", func(m *memory) { m.note(0, 20, 0); at := m.sight(); m.forgive(5, nil, 0); m.learn(at, 6, 0) }, false},
		{"a suspicion of the time before", func(m *memory) { m.forgive(5, nil, 0); m.suspect(0, "old", testimony{}) }, false},
		{"versions rise", func(m *memory) { m.know(m.sight(), namespaceAt(1, 1), 0); m.know(m.sight(), namespaceAt(1, 2), 0) }, false},
		{"a version falls", func(m *memory) { m.know(m.sight(), namespaceAt(1, 2), 0); m.know(m.sight(), namespaceAt(1, 1), 0) }, true},
		{"another namespace", func(m *memory) { m.know(m.sight(), namespaceAt(1, 2), 0); m.know(m.sight(), namespaceAt(2, 2), 0) }, true},
		{"reads are handled late", func(m *memory) {
			first := m.sight()
			m.know(m.sight(), namespaceAt(1, 2), 0)
			m.know(first, namespaceAt(1, 1), 0)
			m.know(m.sight(), namespaceAt(1, 2), 0)
		}, false},
		{"a read of the time before", func(m *memory) {
			m.know(m.sight(), namespaceAt(1, 2), 0)
			first := m.sight()
			m.forgive(5, nil, 0)
			m.know(first, namespaceAt(1, 1), 0)
		}, false},
	} {
		m := newMemory()
		m.note(0, 10, 0)
		tt.do(m)
		if why := m.loss(); tt.lost != (why != "") {
			t.Errorf("%s: %q; a loss: %t", tt.name, why, tt.lost)
		}
		era := m.sight().era
		if m.sound(era) == tt.lost || m.sound(era-1) {
			t.Errorf("%s: sound in this era: %t, in the one before: %t", tt.name, m.sound(era), m.sound(era-1))
		}
	}
}

// TestHealEnds: who waits for another to raise the floor does not wait for longer than
// its context allows.
func TestHealEnds(t *testing.T) {
	c, err := New([]string{"127.0.0.1:1"}, "ns", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.memory.suspect(0, "for a test", testimony{})
	c.memory.raising <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.heal(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("heal: %v; want %v", err, context.Canceled)
	}
}

package zk

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/internal/protocol"
)

// namespaceAt is a namespace as it is read.
func namespaceAt(czxid int64, version int32) stored[protocol.Meta] {
	return stored[protocol.Meta]{czxid: czxid, version: version}
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
		{"tickets rise", func(m *memory) { m.draw(m.sight(), 0, 0); m.draw(m.sight(), 1, 0) }, false},
		{"a ticket comes again", func(m *memory) { m.draw(m.sight(), 0, 0); m.draw(m.sight(), 0, 0) }, true},
		{"a ticket falls", func(m *memory) { m.draw(m.sight(), 7, 0); m.draw(m.sight(), 3, 0) }, true},
		{"tickets are handled late", func(m *memory) { first := m.sight(); m.draw(m.sight(), 7, 0); m.draw(first, 3, 0) }, false},
		{"a ticket of the time before", func(m *memory) { m.draw(m.sight(), 7, 0); m.forgive(5, nil, 0); m.draw(m.sight(), 3, 0) }, false},
		{"a ticket of another era", func(m *memory) { m.draw(m.sight(), 7, 0); at := m.sight(); m.forgive(5, nil, 0); m.draw(at, 3, 0) }, false},
		{"versions rise", func(m *memory) { m.know(m.sight(), namespaceAt(1, 1), 0); m.know(m.sight(), namespaceAt(1, 2), 0) }, false},
		{"a version falls", func(m *memory) { m.know(m.sight(), namespaceAt(1, 2), 0); m.know(m.sight(), namespaceAt(1, 1), 0) }, true},
		{"another namespace", func(m *memory) { m.know(m.sight(), namespaceAt(1, 2), 0); m.know(m.sight(), namespaceAt(2, 2), 0) }, true},
		{"another namespace of the same version", func(m *memory) {
			m.know(m.sight(), namespaceAt(1, 2), 0)
			next := namespaceAt(1, 2)
			next.rec.Nonce = "another"
			m.know(m.sight(), next, 0)
		}, true},
		{"a version comes again with another value", func(m *memory) {
			m.know(m.sight(), namespaceAt(1, 2), 0)
			next := namespaceAt(1, 2)
			next.raw = []byte("another")
			m.know(m.sight(), next, 0)
		}, true},
		{"the base of the floor falls", func(m *memory) {
			first := namespaceAt(1, 2)
			first.rec.Base = 1
			m.know(m.sight(), first, 0)
			m.know(m.sight(), namespaceAt(1, 3), 0)
		}, true},
		{"a floor is lowered", func(m *memory) {
			first := namespaceAt(1, 2)
			first.rec.Floor = 1
			m.know(m.sight(), first, 0)
			m.know(m.sight(), namespaceAt(1, 3), 0)
		}, false},
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

// lossAt is a namespace whose loss was found at a time, in microseconds since 1970.
func lossAt(t *testing.T, nonce string, found int64) protocol.Meta {
	t.Helper()
	m := protocol.Meta{Fingerprint: "layout", Unit: 1000, LastTick: 1 << 41}
	m = m.AfterLoss(nil, found, MaxHorizon, DefaultSkewBound)
	m.Loss.Nonce = nonce
	return m
}

// TestSettled: which losses the record of one explains, by when what speaks of them was
// seen.
func TestSettled(t *testing.T) {
	c, err := New([]string{"127.0.0.1:1"}, "ns", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const second = 1_000_000
	for _, tt := range []struct {
		name string
		do   func(m *memory)
		want bool
	}{
		{"nothing was lost", func(*memory) {}, false},
		{"numbers fall that were seen before", func(m *memory) { m.note(0, 20, 97*second); m.learn(m.sight(), 11, 200*second) }, true},
		{"numbers fall that were seen after", func(m *memory) { m.note(0, 20, 101*second); m.learn(m.sight(), 11, 200*second) }, false},
		{"a number was seen again after", func(m *memory) {
			m.note(0, 20, 97*second)
			m.note(0, 20, 101*second)
			m.learn(m.sight(), 11, 200*second)
		}, true},
		{"higher numbers after the loss was noticed", func(m *memory) {
			m.note(0, 20, 97*second)
			m.learn(m.sight(), 11, 200*second)
			m.note(0, 30, 200*second)
			m.learn(m.sight(), 12, 200*second)
		}, true},
		{"a slot falls that was seen before", func(m *memory) { m.note(0, 20, 200*second); m.suspect(0, "slot", testimony{seen: 97 * second}) }, true},
		{"a slot falls that was seen after", func(m *memory) { m.suspect(0, "slot", testimony{seen: 101 * second}) }, false},
		{"two slots, one of them too late", func(m *memory) {
			m.suspect(0, "slot", testimony{seen: 101 * second})
			m.suspect(0, "slot", testimony{seen: 97 * second})
		}, false},
		{"the loss was known", func(m *memory) { m.suspect(0, "slot", testimony{97 * second, "first"}) }, false},
		{"another loss was known", func(m *memory) { m.suspect(0, "slot", testimony{97 * second, "zeroth"}) }, true},
		{"a floor is missing", func(m *memory) {
			m.know(m.sight(), stored[protocol.Meta]{czxid: 1, rec: protocol.Meta{Fingerprint: "layout", Floor: 1 << 40}}, 0)
			m.suspect(0, "slot", testimony{seen: 97 * second})
		}, false},
	} {
		c.memory = newMemory()
		tt.do(c.memory)
		if got := c.settled(lossAt(t, "first", 100*second)); got != tt.want {
			t.Errorf("%s: settled: %t; want %t", tt.name, got, tt.want)
		}
		if c.settled(protocol.Meta{Fingerprint: "layout", Floor: 1 << 40, LastTick: 1 << 41}) {
			t.Errorf("%s: settled by a floor without a loss", tt.name)
		}
	}
}

// TestBackward: what shows in two views of a worker ID that writes were lost.
func TestBackward(t *testing.T) {
	held := func(change func(*protocol.Slot)) *view {
		v := &view{slot: stored[protocol.Slot]{czxid: 1, version: 5, rec: protocol.Slot{Token: "mine", Generation: 3, NotAfter: 100}}}
		change(&v.slot.rec)
		return v
	}
	known := held(func(*protocol.Slot) {})
	for _, tt := range []struct {
		name string
		now  *view
		want bool
	}{
		{"the same", held(func(*protocol.Slot) {}), false},
		{"extended", held(func(s *protocol.Slot) { s.NotAfter = 200 }), false},
		{"a shorter window", held(func(s *protocol.Slot) { s.NotAfter = 99 }), true},
		{"released", held(func(s *protocol.Slot) { s.Token, s.NotAfter = "", 50 }), false},
		{"granted again", held(func(s *protocol.Slot) { s.Token, s.Generation, s.NotAfter = "other", 4, 50 }), false},
		{"a generation granted twice", held(func(s *protocol.Slot) { s.Token = "other" }), true},
		{"a generation that falls", held(func(s *protocol.Slot) { s.Generation = 2 }), true},
	} {
		if why := backward(known, tt.now); (why != "") != tt.want {
			t.Errorf("%s: %q; a loss: %t", tt.name, why, tt.want)
		}
	}
}

// TestReference: the time that counts for others, by the leader's clock and this
// machine's.
func TestReference(t *testing.T) {
	const second = 1_000_000
	for _, tt := range []struct{ local, leader, want int64 }{
		{100 * second, 0, 100 * second},
		{100 * second, 100 * second, 100 * second},
		{100*second + 1, 100 * second, 100*second + 1},
		{101 * second, 100 * second, 101 * second},
		{101*second + 1, 100 * second, 100 * second},
		{100*second - 1, 100 * second, 100 * second},
		{0, 100 * second, 100 * second},
		{1 << 60, 100 * second, 100 * second},
	} {
		c, err := New([]string{"127.0.0.1:1"}, "ns", &Options{Clock: clockAt(tt.local)})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.reference(tt.leader); got != tt.want {
			t.Errorf("this machine says %d and the leader %d: %d; want %d", tt.local, tt.leader, got, tt.want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// clockAt is a clock that stands still.
type clockAt int64

func (c clockAt) UnixMicro() int64 { return int64(c) }

// TestSoonest: when the next worker ID is free, as it is seen from look to look.
func TestSoonest(t *testing.T) {
	c, err := New([]string{"127.0.0.1:1"}, "ns", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	const second = 1_000_000
	slot := func(worker int, renewed int64) protocol.Slot {
		return protocol.Slot{Worker: worker, Generation: 1, Token: "token", Renewed: renewed * second, TTL: 10_000}
	}
	for _, tt := range []struct {
		name            string
		now, want, seen int64
		held            []protocol.Slot
		anew            bool // by another process
	}{
		{"the first look", 100, 105, 95, []protocol.Slot{slot(1, 97), slot(2, 95)}, false},
		{"nothing was renewed", 101, 105, 95, []protocol.Slot{slot(1, 97), slot(2, 95)}, false},
		{"one was", 102, 107, 97, []protocol.Slot{slot(1, 97), slot(2, 102)}, false},
		{"the servers were away, and sessions begin anew", 150, 160, 0, []protocol.Slot{slot(1, 97), slot(2, 102)}, true},
		{"nobody renews", 151, 160, 0, []protocol.Slot{slot(1, 97), slot(2, 102)}, false},
		{"one is gone, another lives", 152, 160, 0, []protocol.Slot{slot(2, 102), slot(3, 152)}, false},
		{"all live", 153, 162, 152, []protocol.Slot{slot(2, 153), slot(3, 152)}, false},
		{"longer than it should", 170, 180, 0, []protocol.Slot{slot(2, 153), slot(3, 152)}, true},
	} {
		if tt.anew {
			c.looked = nil
		}
		got, seen := c.soonest(tt.held, tt.now*second)
		if !got.Equal(protocol.Time(tt.want * second)) {
			t.Errorf("%s: at %d; want %d", tt.name, got.Unix(), tt.want)
		}
		if seen.IsZero() != (tt.seen == 0) || !seen.IsZero() && seen.Unix() != tt.seen {
			t.Errorf("%s: last seen at %v; want %d", tt.name, seen, tt.seen)
		}
	}
	if got, seen := c.soonest(nil, 0); !got.IsZero() || !seen.IsZero() {
		t.Errorf("nobody holds anything, and the next is free at %v, its holder last seen at %v", got, seen)
	}
}

// TestTransient: what may be gone with the next try.
func TestTransient(t *testing.T) {
	for err, want := range map[error]bool{
		client.ErrConnectionClosed: true,
		client.ErrSessionMoved:     true,
		context.DeadlineExceeded:   true,
		&unreachedError{&net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", errors.New("broken pipe"))}, errSilence}: true,
		client.ErrNoNode:                        false,
		errors.New("unknown error: -125"):       false,
		&unreachedError{errExpired, errSilence}: false,
	} {
		if transient(err) != want {
			t.Errorf("%v: transient: %t", err, !want)
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

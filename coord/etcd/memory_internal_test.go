package etcd

import (
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/protocol"
)

// TestSettled: a loss on record explains what was seen before it was found, by those who
// did not know it then. It may come from a backup, made before a second loss.
func TestSettled(t *testing.T) {
	const (
		found = 10_000_000
		bound = time.Second
	)
	before := protocol.NewMeta(coord.Space{Fingerprint: "layout", Scale: clock.Scale{Unit: 1000}, LastTick: 1 << 41, Capacity: 1})
	lost := before.AfterLoss(nil, found, MaxHorizon, bound)
	for _, tc := range []struct {
		name    string
		seen    int64 // when the cluster was at revision 100
		meta    protocol.Meta
		metaAt  int64
		settled bool
	}{
		{"seen before the loss", found - 2_001_000, before, found - 2_001_001, true},
		{"seen so late before it that clocks may deceive", found - 2_000_000, before, found - 2_000_001, false},
		{"seen after the loss, of which it did not know", found + 5_000_000, before, found - 2, false},
		{"the loss was known", found + 1, lost, found, false},
		{"the loss was known, by a clock that stepped back", found - 3_000_000, lost, found - 3_000_001, false},
	} {
		now := tc.metaAt
		m := newMemory(func() int64 { return now })
		m.learn(m.sight(), &pb.ResponseHeader{ClusterId: 1, Revision: 90})
		m.know(m.sight(), tc.meta, 50)
		now = tc.seen
		m.learn(m.sight(), &pb.ResponseHeader{ClusterId: 1, Revision: 100})
		now = found + 60_000_000
		m.learn(m.sight(), &pb.ResponseHeader{ClusterId: 1, Revision: 99})
		if m.loss() == "" || m.settle(&pb.ResponseHeader{}, lost, 60, bound) != tc.settled || (m.loss() == "") != tc.settled {
			t.Errorf("%s: loss %q, settled %v", tc.name, m.loss(), !tc.settled)
		}
	}
}

// TestEachProofIsSettled: of several proofs of a loss, none is left out.
func TestEachProofIsSettled(t *testing.T) {
	const bound = time.Second
	meta := protocol.NewMeta(coord.Space{Fingerprint: "layout", Scale: clock.Scale{Unit: 1000}, LastTick: 1 << 41, Capacity: 1})
	lost := meta.AfterLoss(nil, 10_000_000, MaxHorizon, bound)
	for _, second := range []*view{{meta: meta, seen: 11_000_000}, {meta: lost, seen: 7_000_000}} {
		m := newMemory(func() int64 { return 0 })
		m.suspect(0, "one", &view{meta: meta, seen: 7_000_000})
		if !m.settle(&pb.ResponseHeader{}, lost, 60, bound) {
			t.Error("one proof that the loss explains")
		}
		m.suspect(1, "one", &view{meta: meta, seen: 7_000_000})
		m.suspect(1, "two", second)
		if m.settle(&pb.ResponseHeader{}, lost, 60, bound) {
			t.Errorf("the loss of %d explains what was seen at %d by one who knew %q", lost.Loss.Found, second.seen, second.meta.Loss.Nonce)
		}
	}
}

// TestEarlierEras: what a view of an earlier era shows was dealt with if the floor was
// raised here since. If the loss was only settled by its record, that has to explain the
// view as well.
func TestEarlierEras(t *testing.T) {
	c := &Coordinator{opts: Options{SkewBound: time.Second}, memory: newMemory(func() int64 { return 0 })}
	meta := protocol.NewMeta(coord.Space{Fingerprint: "layout", Scale: clock.Scale{Unit: 1000}, LastTick: 1 << 41, Capacity: 1})
	lost := meta.AfterLoss(nil, 10_000_000, MaxHorizon, time.Second)
	known := func(seen int64) *view { return &view{meta: meta, seen: seen, slotRev: 9, metaRev: 1} }
	now := func() *view { return &view{era: c.memory.sight().era, meta: lost, slotRev: 8, metaRev: 1} }
	if c.contradicts(known(7_000_000), now()) == "" {
		t.Error("a revision fell within an era")
	}
	c.memory.begin(&pb.ResponseHeader{}, lost, 1)
	if why := c.contradicts(known(7_000_000), now()); why != "" {
		t.Errorf("seen before the loss that was settled: %s", why)
	}
	if c.contradicts(known(11_000_000), now()) == "" {
		t.Error("seen after the loss that was settled, and lost all the same")
	}
	c.memory.forgive(&pb.ResponseHeader{}, lost, 1)
	if why := c.contradicts(known(11_000_000), now()); why != "" {
		t.Errorf("the floor was raised here since: %s", why)
	}
}

// TestBackward: each of the numbers tells by itself that writes were lost.
func TestBackward(t *testing.T) {
	base := view{slotRev: 9, slotMade: 3, metaRev: 5, slot: protocol.Slot{Worker: 7, Generation: 4, Token: "a"}, meta: protocol.Meta{Nonce: "n"}}
	for _, tc := range []struct {
		name   string
		change func(*view)
		lost   bool
	}{
		{"nothing", func(*view) {}, false},
		{"renewed", func(v *view) { v.slotRev = 10 }, false},
		{"released", func(v *view) { v.slotRev, v.slot.Token = 10, "" }, false},
		{"granted to another", func(v *view) { v.slotRev, v.slot.Token, v.slot.Generation = 10, "b", 5 }, false},
		{"floor raised", func(v *view) { v.metaRev = 6 }, false},
		{"slot gone", func(v *view) { v.slotRev, v.slotMade, v.slot = 0, 0, protocol.Slot{} }, true},
		{"slot of an earlier revision", func(v *view) { v.slotRev = 8 }, true},
		{"slot made again", func(v *view) { v.slotRev, v.slotMade = 10, 10 }, true},
		{"generation fell", func(v *view) { v.slotRev, v.slot.Generation = 10, 3 }, true},
		{"generation granted twice", func(v *view) { v.slotRev, v.slot.Token = 10, "b" }, true},
		{"namespace of an earlier revision", func(v *view) { v.metaRev = 4 }, true},
		{"namespace made again", func(v *view) { v.metaRev, v.meta.Nonce = 6, "m" }, true},
	} {
		now := base
		tc.change(&now)
		if why := backward(&base, &now); (why != "") != tc.lost {
			t.Errorf("%s: %q; want something: %v", tc.name, why, tc.lost)
		}
	}
}

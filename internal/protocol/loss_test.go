package protocol

import (
	"testing"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// metaAt is a namespace's record as it is read.
func metaAt(made, version int64, change func(*Meta)) Entry[Meta] {
	e := Entry[Meta]{Made: made, Version: version, Record: Meta{Nonce: "n"}}
	if change != nil {
		change(&e.Record)
	}
	return e
}

// wrote is the position of a write with a number.
func wrote(number int64) Position { return Position{Lineage: "a", Number: number, Wrote: true} }

// TestDetector: what shows that writes were lost, and what does not.
func TestDetector(t *testing.T) {
	learn := func(d *detector, p Position) { d.learn(d.sight(), p, nil, 0) }
	know := func(d *detector, m Entry[Meta]) { d.learn(d.sight(), Position{}, new(m), 0) }
	anew := func(d *detector) { d.forgive(d.sight(), wrote(5), metaAt(1, 1, nil), 0) }
	for _, tt := range []struct {
		name string
		do   func(d *detector)
		lost bool
	}{
		{"numbers rise", func(d *detector) { learn(d, wrote(11)); learn(d, wrote(12)) }, false},
		{"a number is read again", func(d *detector) { learn(d, wrote(11)); learn(d, Position{Lineage: "a", Number: 11}) }, false},
		{"a number is written again", func(d *detector) { learn(d, wrote(11)); learn(d, wrote(11)) }, true},
		{"a number falls", func(d *detector) { learn(d, wrote(12)); learn(d, wrote(11)) }, true},
		{"answers are handled late", func(d *detector) { first := d.sight(); learn(d, wrote(12)); d.learn(first, wrote(11), nil, 0) }, false},
		{"a write of the time before", func(d *detector) { at := d.sight(); anew(d); d.learn(at, wrote(1), nil, 0) }, false},
		{"what was seen in the time before", func(d *detector) { learn(d, wrote(20)); anew(d); learn(d, wrote(6)) }, false},
		{"another lineage", func(d *detector) { learn(d, wrote(11)); learn(d, Position{Lineage: "b", Number: 12}) }, true},
		{"versions rise", func(d *detector) { know(d, metaAt(1, 1, nil)); know(d, metaAt(1, 2, nil)) }, false},
		{"a version falls", func(d *detector) { know(d, metaAt(1, 2, nil)); know(d, metaAt(1, 1, nil)) }, true},
		{"the namespace is gone", func(d *detector) { know(d, metaAt(1, 2, nil)); know(d, Entry[Meta]{}) }, true},
		{"the namespace is there now", func(d *detector) { know(d, Entry[Meta]{}); know(d, metaAt(1, 2, nil)) }, false},
		{"another namespace", func(d *detector) { know(d, metaAt(1, 2, nil)); know(d, metaAt(2, 2, nil)) }, true},
		{"one that was made just now", func(d *detector) { know(d, metaAt(MadeUnknown, 0, nil)); know(d, metaAt(2, 2, nil)) }, false},
		{"another nonce", func(d *detector) {
			know(d, metaAt(1, 2, nil))
			know(d, metaAt(1, 3, func(m *Meta) { m.Nonce = "other" }))
		}, true},
		{"a version comes again with another value", func(d *detector) {
			know(d, metaAt(1, 2, nil))
			next := metaAt(1, 2, nil)
			next.Raw = []byte("another")
			know(d, next)
		}, true},
		{"the base of the floor falls", func(d *detector) {
			know(d, metaAt(1, 2, func(m *Meta) { m.Base = 1 }))
			know(d, metaAt(1, 3, nil))
		}, true},
		{"a floor is lowered", func(d *detector) {
			know(d, metaAt(1, 2, func(m *Meta) { m.Floor = 1 }))
			know(d, metaAt(1, 3, nil))
		}, false},
		{"reads are handled late", func(d *detector) {
			first := d.sight()
			know(d, metaAt(1, 2, nil))
			d.learn(first, Position{}, new(metaAt(1, 1, nil)), 0)
			know(d, metaAt(1, 2, nil))
		}, false},
		{"a read of the time before", func(d *detector) {
			know(d, metaAt(1, 2, nil))
			first := d.sight()
			anew(d)
			d.learn(first, Position{}, new(metaAt(1, 1, nil)), 0)
		}, false},
		{"two namespaces, of which one was asked for before any was known", func(d *detector) {
			first := d.sight()
			know(d, metaAt(2, 2, nil))
			d.learn(first, Position{}, new(metaAt(1, 1, func(m *Meta) { m.Nonce = "other" })), 0)
		}, true},
		{"a foreign namespace", func(d *detector) { d.foreign(d.sight().era, "a", "b", 0) }, true},
		{"one that was foreign in the time before", func(d *detector) { d.foreign(d.sight().era-1, "a", "b", 0) }, false},
	} {
		d := newDetector(testHorizon, testBound)
		d.learn(d.sight(), wrote(10), nil, 0)
		tt.do(d)
		if why := d.loss(); tt.lost != (why != "") {
			t.Errorf("%s: %q; a loss: %t", tt.name, why, tt.lost)
		}
		era := d.sight().era
		if d.sound(era) == tt.lost || d.sound(era-1) {
			t.Errorf("%s: sound in this era: %t, in the one before: %t", tt.name, d.sound(era), d.sound(era-1))
		}
	}
}

// a layout whose ticks are milliseconds since 1970.
var epochSpace = coord.Space{Fingerprint: "layout", Scale: clock.Scale{Unit: 1000}, LastTick: 1 << 41, Capacity: 1}

// TestSettled: a loss on record explains what was seen before it was found, by those who
// did not know it then. It may come from a backup, made before a second loss.
func TestSettled(t *testing.T) {
	const found = 100_000_000
	before := NewMeta(epochSpace)
	lost := before.AfterLoss(nil, found, testHorizon, testBound)
	for _, tt := range []struct {
		name    string
		meta    Meta  // known
		metaAt  int64 // when that was read
		seen    int64 // when write 100 was
		settled bool
	}{
		{"seen before the loss", before, found - 2_001_001, found - 2_001_000, true},
		{"seen so late before it that clocks may deceive", before, found - 2_000_001, found - 2_000_000, false},
		{"seen after the loss, of which it did not know", before, found - 2, found + 5_000_000, false},
		{"the loss was known", lost, found, found + 1, false},
		{"the loss was known, by a clock that stepped back", lost, found - 3_000_001, found - 3_000_000, false},
	} {
		d := newDetector(testHorizon, testBound)
		d.learn(d.sight(), wrote(90), nil, tt.metaAt)
		d.learn(d.sight(), Position{}, &Entry[Meta]{Record: tt.meta, Made: 1, Version: 50}, tt.metaAt)
		d.learn(d.sight(), wrote(100), nil, tt.seen)
		d.learn(d.sight(), wrote(99), nil, found+60_000_000)
		d.learn(d.sight(), wrote(120), nil, found+60_000_000) // what is seen after the proof is no evidence
		if d.loss() == "" || d.settle(d.sight(), Position{}, Entry[Meta]{Record: lost, Made: 1, Version: 60}, 0) != tt.settled || (d.loss() == "") != tt.settled {
			t.Errorf("%s: loss %q; settled: %t", tt.name, d.loss(), tt.settled)
		}
	}
}

// TestEachProofIsSettled: of several proofs of a loss, none is left out, and what was
// known of the floor is not missing.
func TestEachProofIsSettled(t *testing.T) {
	const found = 100_000_000
	meta := NewMeta(epochSpace)
	lost := Entry[Meta]{Made: 1, Record: meta.AfterLoss(nil, found, testHorizon, testBound)}
	early, late := evidence{seen: found - 3_000_000}, evidence{seen: found + 1_000_000}
	known := evidence{found - 3_000_000, lost.Record.Loss.Nonce}
	for _, tt := range []struct {
		name    string
		proofs  []evidence
		floor   int64 // that was known
		base    int64
		at      int64 // when that was seen
		settled bool
	}{
		{"none", nil, 0, 0, 0, false},
		{"one", []evidence{early}, 0, 0, 0, true},
		{"two", []evidence{early, early}, 0, 0, 0, true},
		{"one of them later", []evidence{early, late}, 0, 0, 0, false},
		{"the later one first", []evidence{late, early}, 0, 0, 0, false},
		{"one of them by who knew the loss", []evidence{early, known}, 0, 0, 0, false},
		{"a floor is missing that the loss makes up for", []evidence{early}, lost.Record.Floor + 1, 0, early.seen, true},
		{"a floor is missing that was seen after the loss", []evidence{early}, lost.Record.Floor + 1, 0, late.seen, false},
		{"a base is missing", []evidence{early}, lost.Record.Floor + 1, lost.Record.Floor + 1, early.seen, false},
	} {
		d := newDetector(testHorizon, testBound)
		m := meta
		m.Floor, m.Base = tt.floor, tt.base
		d.learn(d.sight(), Position{}, &Entry[Meta]{Record: m, Made: 1}, tt.at)
		d.mu.Lock()
		for _, e := range tt.proofs {
			d.prove("for a test", e)
		}
		d.mu.Unlock()
		if got := d.settle(d.sight(), Position{}, lost, 0); got != tt.settled {
			t.Errorf("%s: settled: %t; want %t", tt.name, got, tt.settled)
		}
	}
}

// TestEarlierEras: what a view of an earlier era shows was dealt with if the floor was
// raised here since. If the loss was only settled by its record, that has to explain the
// view as well.
func TestEarlierEras(t *testing.T) {
	const found = 100_000_000
	meta := NewMeta(epochSpace)
	lost := Entry[Meta]{Made: 1, Version: 1, Record: meta.AfterLoss(nil, found, testHorizon, testBound)}
	d := newDetector(testHorizon, testBound)
	shows := func(seen int64) string {
		known := &View{seen: seen, Meta: Entry[Meta]{Made: 1, Version: 1, Record: meta}, Slot: Entry[Slot]{Made: 1, Version: 9}}
		d.compare(known, &View{era: d.sight().era, Meta: lost, Slot: Entry[Slot]{Made: 1, Version: 8}})
		d.mu.Lock()
		defer d.mu.Unlock()
		why := d.lost
		d.lost, d.proofs = "", nil
		return why
	}
	if shows(found-3_000_000) == "" {
		t.Error("a version fell within an era")
	}
	d.mu.Lock()
	d.begin(&sight{}, Position{}, lost, 0)
	d.mu.Unlock()
	if why := shows(found - 3_000_000); why != "" {
		t.Errorf("seen before the loss that was settled: %s", why)
	}
	if shows(found+1_000_000) == "" {
		t.Error("seen after the loss that was settled, and lost all the same")
	}
	d.forgive(d.sight(), Position{}, lost, 0)
	if why := shows(found + 1_000_000); why != "" {
		t.Errorf("the floor was raised here since: %s", why)
	}
}

// TestViews: each of the numbers tells by itself that writes were lost.
func TestViews(t *testing.T) {
	base := View{
		Meta: Entry[Meta]{Made: 2, Version: 5, Record: Meta{Nonce: "n"}},
		Slot: Entry[Slot]{Made: 3, Version: 9, Record: Slot{Worker: 7, Generation: 4, Token: "a", NotAfter: 100}},
	}
	for _, tt := range []struct {
		name   string
		change func(*View)
		lost   bool
	}{
		{"nothing", func(*View) {}, false},
		{"renewed", func(v *View) { v.Slot.Version, v.Slot.Record.NotAfter = 10, 200 }, false},
		{"released", func(v *View) { v.Slot.Version, v.Slot.Record.Token, v.Slot.Record.NotAfter = 10, "", 50 }, false},
		{"granted to another", func(v *View) {
			v.Slot.Version, v.Slot.Record = 10, Slot{Worker: 7, Generation: 5, Token: "b", NotAfter: 50}
		}, false},
		{"floor raised", func(v *View) { v.Meta.Version = 6 }, false},
		{"made just now", func(v *View) { v.Slot.Made = MadeUnknown }, false},
		{"slot gone", func(v *View) { v.Slot = Entry[Slot]{} }, true},
		{"slot of an earlier version", func(v *View) { v.Slot.Version = 8 }, true},
		{"slot made again", func(v *View) { v.Slot.Version, v.Slot.Made = 10, 10 }, true},
		{"generation fell", func(v *View) { v.Slot.Version, v.Slot.Record.Generation = 10, 3 }, true},
		{"generation granted twice", func(v *View) { v.Slot.Version, v.Slot.Record.Token = 10, "b" }, true},
		{"a shorter window", func(v *View) { v.Slot.Version, v.Slot.Record.NotAfter = 10, 99 }, true},
		{"namespace of an earlier version", func(v *View) { v.Meta.Version = 4 }, true},
		{"namespace made again", func(v *View) { v.Meta.Version, v.Meta.Record.Nonce = 6, "m" }, true},
	} {
		now := base
		tt.change(&now)
		if why := viewContradicts(&base, &now); (why != "") != tt.lost {
			t.Errorf("%s: %q; a loss: %t", tt.name, why, tt.lost)
		}
	}
	if why := viewContradicts(nil, &base); why != "" {
		t.Errorf("nothing was known: %s", why)
	}
}

// TestLateAnswerAfterAProof: an answer to what was asked for before a loss was proved may be
// of the time before. It is nothing that a later answer could fall behind.
func TestLateAnswerAfterAProof(t *testing.T) {
	const found = 100_000_000
	meta := NewMeta(epochSpace)
	lost := Entry[Meta]{Made: 1, Record: meta.AfterLoss(nil, found, testHorizon, testBound)}
	d := newDetector(testHorizon, testBound)
	d.learn(d.sight(), wrote(100), nil, found-10_000_000)
	first := d.sight()
	d.learn(d.sight(), wrote(90), nil, found+1_000_000) // the proof
	d.learn(first, wrote(120), nil, found+1_000_000)
	d.learn(d.sight(), wrote(91), nil, found+2_000_000)
	if !d.settle(d.sight(), wrote(92), lost, found+3_000_000) {
		t.Error("a loss on record does not settle what was seen before it")
	}
}

// TestProofIsSeen: the answer that proves a loss is something that was seen, position and
// record, whichever of the two is the proof: what falls behind it shows another loss.
func TestProofIsSeen(t *testing.T) {
	const found = 100_000_000
	meta := NewMeta(epochSpace)
	lost := Entry[Meta]{Made: 1, Record: meta.AfterLoss(nil, found, testHorizon, testBound)}
	proofs := map[string]struct {
		number, version int64
		apart           bool // what an outcome shows is taken note of in two parts
	}{"the number": {90, 9, false}, "the version": {110, 5, false}, "both": {90, 5, false}, "one, and then the other": {90, 5, true}}
	for what, proof := range proofs {
		for name, second := range map[string]func(d *detector){
			"a number falls": func(d *detector) { d.learn(d.sight(), wrote(proof.number-1), nil, found+2_000_000) },
			"a version falls": func(d *detector) {
				d.learn(d.sight(), Position{}, new(metaAt(1, proof.version-1, nil)), found+2_000_000)
			},
		} {
			d := newDetector(testHorizon, testBound)
			d.learn(d.sight(), wrote(100), new(metaAt(1, 9, nil)), found-10_000_000)
			if at := d.sight(); proof.apart {
				d.learn(at, wrote(proof.number), nil, found+1_000_000)
				d.learn(at, Position{}, new(metaAt(1, proof.version, nil)), found+1_000_000)
			} else {
				d.learn(at, wrote(proof.number), new(metaAt(1, proof.version, nil)), found+1_000_000)
			}
			if d.loss() == "" {
				t.Fatalf("%s is no proof", what)
			}
			second(d)
			if d.settle(d.sight(), wrote(92), lost, found+3_000_000) {
				t.Errorf("%s is the proof, and then %s: a loss on record settles what was seen after it", what, name)
			}
		}
	}
}

// TestNoticedMeanwhile: what was read, or made, before a loss was noticed neither settles that
// nor forgives it.
func TestNoticedMeanwhile(t *testing.T) {
	const found = 100_000_000
	meta := NewMeta(epochSpace)
	lost := Entry[Meta]{Made: 1, Record: meta.AfterLoss(nil, found, testHorizon, testBound)}
	forgives := func(d *detector, at *sight) bool {
		_, ok := d.forgive(at, wrote(92), lost, found)
		return ok
	}
	settles := func(d *detector, at *sight) bool { return d.settle(at, wrote(92), lost, found) }
	for name, ends := range map[string]func(d *detector, at *sight) bool{"forgive": forgives, "settle": settles} {
		d := newDetector(testHorizon, testBound)
		d.learn(d.sight(), wrote(100), nil, found-30_000_000)
		d.learn(d.sight(), wrote(90), nil, found-20_000_000)
		at := d.sight()
		d.learn(d.sight(), wrote(85), nil, found-10_000_000)
		if ends(d, at) || d.loss() == "" {
			t.Errorf("%s: a loss was noticed since, and is forgotten", name)
		}
		if !ends(d, d.sight()) || d.loss() != "" {
			t.Errorf("%s: both losses were noticed before: %s", name, d.loss())
		}
	}
}

// TestSeenMeanwhile: a floor was raised by what was known, and then an answer is handled that was sent
// before the loss was noticed, and tells of more: a longer horizon, or a higher floor. The loss is not
// forgiven until the floor was raised by that as well. A namespace of another layout says nothing.
func TestSeenMeanwhile(t *testing.T) {
	const found = 100_000_000
	meta := NewMeta(epochSpace)
	raised := Entry[Meta]{Made: 1, Version: 2, Record: meta.AfterLoss(nil, found, testHorizon, testBound)}
	for name, tt := range map[string]struct {
		change  func(*Meta)
		forgive bool
	}{
		"nothing more":     {func(*Meta) {}, true},
		"a longer horizon": {func(m *Meta) { *m = m.declared(testHorizon.Milliseconds() + 1) }, false},
		"a higher floor":   {func(m *Meta) { m.Floor = raised.Record.Floor + 1 }, false},
		"a higher base":    {func(m *Meta) { m.Base = raised.Record.Base + 1 }, false},
		"another layout": {func(m *Meta) {
			*m = m.declared(testHorizon.Milliseconds() + 1)
			m.Fingerprint += "2"
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDetector(testHorizon, testBound)
			early := d.sight()
			d.learn(d.sight(), wrote(100), nil, found-30_000_000)
			d.learn(d.sight(), wrote(90), nil, found-20_000_000)
			at := d.sight() // by which the floor is raised
			more := Entry[Meta]{Made: 1, Version: 1, Record: meta}
			tt.change(&more.Record)
			d.learn(early, Position{}, &more, found-10_000_000)
			if _, ok := d.forgive(at, wrote(92), raised, found); ok != tt.forgive || (d.loss() == "") != tt.forgive {
				t.Errorf("forgiven: %v, still lost: %q; want %v", ok, d.loss(), tt.forgive)
			}
			if tt.forgive {
				return
			}
			again := raised
			again.Version, again.Record = 3, raised.Record.AfterLoss(d.known(), found, d.horizon(), testBound)
			if _, ok := d.forgive(d.sight(), wrote(93), again, found); !ok || again.Record.MaxHorizon < more.Record.MaxHorizon || again.Record.Floor < more.Record.Floor || again.Record.Base < more.Record.Base {
				t.Errorf("raised again to %+v, forgiven: %v", again.Record, ok)
			}
		})
	}
}

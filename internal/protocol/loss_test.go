package protocol

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// found is when a loss was noticed, in microseconds since 1970.
const found = 100_000_000

// epochSpace has ticks that are milliseconds since 1970.
var epochSpace = coord.Space{
	Fingerprint: "layout", Scale: clock.Scale{Unit: 1000},
	LastTick: 1 << 41, Capacity: 1,
}

// exactly is a reading of a clock that is neither rounded nor late.
func exactly(at int64) Span { return Span{at, at} }

// lostAt is a namespace with the record of a loss.
func lostAt(before Meta, nonce string, at int64) Meta {
	m := before.AfterLoss(Meta{}, exactly(at), testLimits)
	m.Loss.Nonce = nonce
	return m
}

// TestProof: each thing that shows a loss, and what looks like it and does not.
func TestProof(t *testing.T) {
	space := Meta{Nonce: "n", Fingerprint: "f", Base: 3, MaxHorizon: 5}
	at := observation{lineage: "a", number: 10, meta: space, version: 6}
	held := Entry[Slot]{Made: 3, Version: 9, Record: Slot{
		Worker: 7, Generation: 4, Token: "t",
		NotAfter: 100,
	}}
	number := func(n int64, wrote bool) answer {
		return answer{Position: Position{Lineage: "a", Number: n, Wrote: wrote}}
	}
	meta := func(m Meta) answer { return answer{meta: &Entry[Meta]{Made: 1, Version: 6, Record: m}} }
	slot := func(change func(e *Entry[Slot])) answer {
		now := held
		now.Version = 10
		change(&now)
		return answer{mine: &held, slot: &now}
	}
	for _, tt := range []struct {
		name string
		a    answer
		lost bool
	}{
		{"nothing was read", answer{}, false},
		{"the lineage on record is another", answer{Position: Position{Lineage: "a"}, origin: "b"}, true},
		{"the lineage on record", answer{Position: Position{Lineage: "a"}, origin: "a"}, false},
		{"another lineage than before", answer{Position: Position{Lineage: "b"}}, true},
		{"a number falls", number(9, false), true},
		{"a number is written again", number(10, true), true},
		{"a number is read again", number(10, false), false},
		{"a number rises", number(11, true), false},
		{"the namespace is gone", answer{meta: &Entry[Meta]{}}, true},
		{"the namespace has another nonce", meta(Meta{Nonce: "m"}), true},
		{"the namespace", meta(Meta{Nonce: "n", Floor: 5}), false},
		{
			"an older record of the namespace",
			answer{meta: &Entry[Meta]{Made: 1, Version: 5, Record: space}},
			true,
		},
		{"the base fell", meta(Meta{Nonce: "n", Fingerprint: "f", MaxHorizon: 5}), true},
		{"the horizon fell", meta(Meta{Nonce: "n", Fingerprint: "f", Base: 3}), true},
		{"neither fell", meta(Meta{Nonce: "n", Fingerprint: "f", Base: 4, MaxHorizon: 6}), false},
		{"the slot is gone", answer{mine: &held, slot: &Entry[Slot]{}}, true},
		{"a lower generation", slot(func(e *Entry[Slot]) { e.Record.Generation = 3 }), true},
		{"a lower version", slot(func(e *Entry[Slot]) { e.Version = 8 }), true},
		{"the generation with another token", slot(func(e *Entry[Slot]) { e.Record.Token = "u" }), true},
		{"the window ends earlier", slot(func(e *Entry[Slot]) { e.Record.NotAfter = 99 }), true},
		{"nothing has changed", slot(func(e *Entry[Slot]) { e.Version = 9 }), false},
		{"it was renewed", slot(func(e *Entry[Slot]) { e.Record.NotAfter = 200 }), false},
		{"it was released", slot(func(e *Entry[Slot]) {
			e.Record.Token, e.Record.NotAfter = "", 50
		}), false},
		{"somebody else has it", slot(func(e *Entry[Slot]) {
			e.Record = Slot{Generation: 5, Token: "u", NotAfter: 50}
		}), false},
		{"it was resumed", slot(func(e *Entry[Slot]) {
			e.Record.Generation, e.Record.Token = 5, "u"
		}), false},
		{"nothing was held", answer{mine: &Entry[Slot]{}, slot: &Entry[Slot]{}}, false},
		{"it was made", answer{mine: &Entry[Slot]{}, slot: &held}, false},
	} {
		if why := proof(at, tt.a); (why != "") != tt.lost {
			t.Errorf("%s: %q; a loss: %t", tt.name, why, tt.lost)
		}
		if why := proof(observation{}, tt.a); why != "" && tt.a.mine == nil && !tt.a.foreign() {
			t.Errorf("%s, to who has seen nothing: %s", tt.name, why)
		}
		at := at
		if at.lost = "already"; proof(at, tt.a) != "" {
			t.Errorf("%s, after a loss that is not dealt with: a second one", tt.name)
		}
	}
}

// TestRemedy: what settles a loss that a process has noticed, and what is stored if nothing
// does. Nothing that the process knew before is missing then.
func TestRemedy(t *testing.T) {
	// that it was before the loss was found, by clocks a second apart each
	const sure = found - 3_000_001
	before := NewMeta(epochSpace)
	lost := lostAt(before, "loss", found)
	slow := before.AfterLoss(Meta{}, Span{found, found + 10_000_000}, testLimits)
	higher := func(m Meta, floor, base int64) Meta { m.Floor, m.Base = floor, base; return m }
	other := before
	other.Fingerprint, other.Base, other.Floor = "other", lost.Floor+9, lost.Floor+9
	born := before.afterBirth(exactly(found), testLimits)
	foreign := Position{Lineage: "b"}
	for _, tt := range []struct {
		name     string
		meta     Meta // known before; zero: nothing was
		seen     int64
		stored   Meta
		position Position
		settled  bool
	}{
		{"nothing is on record", before, sure, before, Position{}, false},
		{"found after all that was seen", before, sure, lost, Position{}, true},
		{
			"found so soon after it that clocks may deceive", before, sure + 2_000_001, lost,
			Position{},
			false,
		},
		{
			"a backup holds the record of an older loss", before, found + 5_000_000, lost,
			Position{},
			false,
		},
		{"the loss was known", lost, sure, lost, Position{}, false},
		{"nothing was known", Meta{}, 0, lost, Position{}, true},
		{"a base is missing", higher(before, lost.Floor+9, lost.Floor+9), sure, lost, Position{}, false},
		{
			"a floor is missing that the loss makes up for", higher(before, lost.Floor+9, 0), sure, lost,
			Position{},
			true,
		},
		{
			"a horizon is missing", before.declared(testLimits.Horizon.Milliseconds() + 1), sure, lost,
			Position{},
			false,
		},
		{"another layout says nothing", other, sure, lost, Position{}, true},
		{
			"a floor that is higher because the request was slow", before, found + 5_000_000, slow,
			Position{},
			false,
		},
		{
			"a slow request, and found after all that was seen", before, sure, slow,
			Position{},
			true,
		},
		{"the own record", before, found + 5_000_000, lostAt(before, "drawn", found), Position{}, true},
		{
			"the own record, and a base is missing", higher(before, lost.Floor+9, lost.Floor+9), sure,
			lostAt(before, "drawn", found),
			Position{},
			false,
		},
		{"a namespace that may be new", before, sure, born, Position{}, false},
		{"in another lineage", Meta{}, 0, lost, foreign, false},
	} {
		m := observation{meta: tt.meta, seen: tt.seen, lost: "lost", drawn: "drawn"}
		a := answer{Position: tt.position, origin: "a", meta: &Entry[Meta]{Record: tt.stored}}
		a.Lineage = cmp.Or(a.Lineage, "a")
		next, settled := remedy(m, a, exactly(found+7_000_000), testLimits)
		if settled != tt.settled {
			t.Errorf("%s: settled: %t", tt.name, settled)
		}
		if settled {
			continue
		}
		least := before.WindowLimit(found+7_000_000, testLimits)
		if tt.stored.Born() {
			least = born.Floor // it need not be raised: what shows the loss is put on record
		}
		if next.Loss.Nonce != "drawn" || next.Floor < max(least, tt.stored.Floor) ||
			next.lacks(tt.meta) || next.Floor < tt.stored.with(tt.meta).Floor {
			t.Errorf("%s: %+v is stored, known was %+v", tt.name, next, tt.meta)
		}
		again, settled := remedy(m, answer{meta: &Entry[Meta]{Record: next}},
			exactly(found+8_000_000), testLimits)
		if !settled || again != next {
			t.Errorf("%s: once it is stored, %+v is to be", tt.name, again)
		}
	}
	other.MaxHorizon = time.Minute.Milliseconds()
	if next, _ := remedy(observation{meta: other}, answer{meta: &Entry[Meta]{Record: before}},
		exactly(found), testLimits); next.Floor < before.WindowLimit(found,
		Limits{time.Minute, time.Second}) {
		t.Errorf("another layout had windows of a minute, and %+v is stored", next)
	}
}

// TestDetector: answers are compared with what was seen before their requests, and what was
// asked for before a loss was noticed is not relied on afterwards.
func TestDetector(t *testing.T) {
	before := NewMeta(epochSpace)
	seen := func(number int64, m Meta) answer {
		return answer{
			Position: Position{Lineage: "a", Number: number},
			meta:     &Entry[Meta]{Made: 1, Version: number, Record: m},
		}
	}
	fresh := func() (*detector, observation) {
		d := &detector{limits: testLimits}
		first := d.observation()
		d.observe(first, seen(10, before), found-20_000_000)
		return d, first
	}
	base := before
	base.Floor, base.Base = 77, 77
	for name, tt := range map[string]struct {
		do    func(d *detector, first observation)
		lost  bool
		sound bool // what was seen at the begin
	}{
		"answers are handled late": {func(d *detector, first observation) {
			d.observe(d.observation(), seen(12, before), 0)
			d.observe(first, seen(5, before), 0)
		}, false, true},
		"a number falls": {func(d *detector, _ observation) {
			d.observe(d.observation(), seen(5, before), 0)
		}, true, false},
		"the lineage is another": {func(d *detector, _ observation) {
			d.observe(d.observation(), answer{Position: Position{Lineage: "b"}}, 0)
		}, true, false},
		"and it is dealt with": {func(d *detector, _ observation) {
			d.observe(d.observation(), seen(5, before), 0)
			d.deal(d.observation().losses, seen(6, lostAt(before, "loss", found)), found)
			d.observe(d.observation(), seen(7, before), found)
		}, false, false},
		"an answer of before comes after that": {func(d *detector, first observation) {
			d.observe(d.observation(), seen(5, before), 0)
			d.deal(d.observation().losses, seen(6, lostAt(before, "loss", found)), found)
			d.observe(first, seen(20, before), found)
			d.observe(d.observation(), seen(7, before), found)
		}, false, false},
		"another loss is noticed before one is dealt with": {func(d *detector, _ observation) {
			d.observe(d.observation(), seen(5, before), 0)
			losses := d.observation().losses
			d.deal(losses, seen(6, before), found)
			d.observe(d.observation(), seen(4, before), found)
			if _, ok := d.deal(losses, seen(7, before), found); ok {
				t.Error("what was done about a loss has dealt with the next")
			}
		}, true, false},
		"one that was dealt with unnoticed": {func(d *detector, _ observation) {
			d.observe(d.observation(), seen(11, lostAt(before, "loss", found)), found+1)
		}, false, false},
		"one that was dealt with unnoticed, and a later answer has come before": {
			func(d *detector, _ observation) {
				at := d.observation()
				d.observe(at, answer{Position: Position{Lineage: "a", Number: 30}}, found+2)
				d.observe(at, seen(20, lostAt(before, "loss", found)), found+1)
				d.observe(d.observation(), seen(25, lostAt(before, "loss", found)), found+3)
			}, true, false,
		},
		"a floor that is raised just now": {func(d *detector, _ observation) {
			d.observe(d.observation(), seen(11, lostAt(before, "loss", found-19_000_000)), found)
		}, false, true},
	} {
		d, first := fresh()
		begin := d.observation().losses
		tt.do(d, first)
		if m := d.observation(); (m.lost != "") != tt.lost || d.sound(begin) != tt.sound || !tt.lost &&
			!d.sound(m.losses) {
			t.Errorf("%s: %+v, what was seen at the begin is sound: %t", name, m, d.sound(begin))
		}
	}
	d, first := fresh()
	d.observe(d.observation(), seen(12, base), 0)
	if d.observe(first, seen(11, before), 0); d.observation().meta.Base != 77 {
		t.Errorf("an older answer is news: %+v", d.observation().meta)
	}
	d, _ = fresh()
	d.observe(d.observation(), seen(5, before), 0)
	d.observe(d.observation(), seen(4, base), 0)
	d.observe(d.observation(), seen(3, before), 0)
	if known := d.observation().meta; known.Base != 77 || known.Floor != 77 ||
		known.Nonce != before.Nonce {
		t.Errorf("a floor that is seen after a loss is to be remembered; known is %+v", known)
	}
}

// TestListen: who has renewed, of holders whose leases may outlive the back end.
func TestListen(t *testing.T) {
	const now, ttl, second = 100_000_000, 10_000_000, 1_000_000
	at := func(renewed int64) Span { return Span{renewed, renewed + ttl} }
	const long = now - ttl - second - 2
	since := func(ago int64) silence { return silence{1: {long, now + ttl - ago}} }
	for _, tt := range []struct {
		name    string
		first   silence
		now     map[int]Span
		ends    int64 // seconds from now; 0: nobody is silent
		differs bool
	}{
		{"nobody is there", silence{}, nil, 0, false},
		{"in time", silence{}, map[int]Span{1: at(now - ttl - second)}, 0, false},
		{"long ago", silence{}, map[int]Span{1: at(long)}, 10, true},
		{"in the future", silence{}, map[int]Span{1: at(now + second + 1)}, 0, true},
		{"one of several", silence{}, map[int]Span{1: at(long), 2: at(now)}, 10, false},
		{"for longer", since(4 * second), map[int]Span{1: at(long)}, 6, true},
		{"by another clock since", since(4 * second), map[int]Span{1: at(long + 1)}, 0, true},
		{"and by this one", since(4 * second), map[int]Span{1: at(long + 1), 2: at(now)}, 0, false},
		{"its lease should have ended", since(ttl + 5*second), map[int]Span{1: at(long)}, 1, true},
		{"and does not end", since(ttl + 5*second + 1), map[int]Span{1: at(long)}, 0, true},
		{"another one later", since(ttl + 6*second), map[int]Span{1: at(long), 2: at(long)}, 10, true},
		{"those are gone", since(second), nil, 0, false},
	} {
		ends, err := tt.first.listen(tt.now, Span{now, now}, time.Second)
		if want := tt.ends; want != 0 && ends != now+want*second || want == 0 && ends != 0 ||
			(err != nil) != tt.differs {
			t.Errorf("%s: until %d, %v", tt.name, ends, err)
		}
	}
}

// doneSession is a session in which every change is done.
type doneSession struct{ Session }

func (doneSession) Commit(context.Context, Change) (Outcome, error) {
	return Outcome{Done: true}, nil
}
func (doneSession) Time() Span { return Span{} }

// TestChangeFromBeforeALoss: what was done on the strength of what was read before a loss is
// not used, although the loss was dealt with before the change was made.
func TestChangeFromBeforeALoss(t *testing.T) {
	c := &Coordinator{set: Settings{Clock: clock.System()}, detector: &detector{limits: testLimits}}
	meta := Entry[Meta]{Record: Meta{Nonce: "a"}, Made: 1, Version: 1}
	for _, want := range []bool{false, true} {
		if _, unsound, err := c.commit(t.Context(), doneSession{}, Change{Before: &View{Meta: meta}},
			nil); err != nil || unsound != want {
			t.Errorf("unsound: %v, %v; want %v", unsound, err, want)
		}
		c.detector.deal(0, answer{meta: &meta}, 1)
	}
}

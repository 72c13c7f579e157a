package coordtest

import (
	"errors"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// operated is a participant that asks for two worker IDs and is an operator too.
type operated struct {
	party
	coord.AdminCoordinator
}

func (s *suite) operator() operated {
	s.Helper()
	p := s.client(2)
	a, ok := p.Coordinator.(coord.AdminCoordinator)
	if !ok {
		s.Fatalf("%T lacks a method of coord.AdminCoordinator", p.Coordinator)
	}
	return operated{p, a}
}

// declared is an operator of a namespace that was declared.
func (s *suite) declared() operated {
	s.Helper()
	o := s.operator()
	o.init()
	return o
}

func (s *suite) space() coord.Space {
	return coord.Space{Fingerprint: layoutA, Scale: scale, LastTick: lastTick, Capacity: capacity}
}

func (o operated) init() {
	o.Helper()
	if err := o.Init(o.ctx(), o.space()); err != nil {
		o.Fatalf("Init of a namespace in which nothing was granted: %v", err)
	}
}

// timeOf is when a tick begins.
func timeOf(tick int64) time.Time { return time.UnixMicro(scale.Micro(tick)).UTC() }

// quarantine raises the floor to a tick, from when on it must be at want.
func (o operated) quarantine(tick, want int64) {
	o.Helper()
	if floor, err := o.Quarantine(o.ctx(), timeOf(tick)); err != nil ||
		!floor.Equal(timeOf(want)) {
		o.Fatalf("Quarantine until %v: %v, %v; want %v", timeOf(tick), floor, err, timeOf(want))
	}
}

// retire retires a worker ID, and once more, which changes nothing.
func (o operated) retire(id int) {
	o.Helper()
	for range 2 {
		if err := o.Retire(o.ctx(), id); err != nil {
			o.Fatalf("Retire of worker ID %d: %v", id, err)
		}
	}
}

// list returns the slots, of which there must be n.
func (o operated) list(n int) []coord.Slot {
	o.Helper()
	slots, err := o.List(o.ctx())
	if err != nil || len(slots) != n {
		o.Fatalf("List: %+v, %v; want %d slots", slots, err, n)
	}
	return slots
}

var adminCases = []testCase{
	{"Init", adminInit},
	{"Inspect", func(s *suite) {
		o := s.operator()
		nonce := "" // the same for as long as there is the namespace
		wants := func(want coord.Namespace) {
			s.Helper()
			got, err := o.Inspect(s.ctx())
			if nonce == "" {
				nonce = got.Nonce
			}
			if want.Layout != "" {
				want.Nonce = nonce
			}
			if err != nil || got != want || (got.Nonce == "") != (got.Layout == "") {
				s.Fatalf("Inspect: %+v, %v; want %+v", got, err, want)
			}
		}
		for range 2 {
			wants(coord.Namespace{})
		}
		o.init()
		wants(coord.Namespace{Layout: layoutA})
		o.quarantine(lastTick/2, lastTick/2)
		wants(coord.Namespace{
			Layout: layoutA, Floor: timeOf(lastTick/2 + 1),
			Base: timeOf(lastTick/2 + 1),
		})
		o.quarantine(lastTick, lastTick)
		wants(coord.Namespace{
			Layout: layoutA, Floor: timeOf(lastTick + 1),
			Base: timeOf(lastTick + 1), Closed: true,
		})
	}},
	{"Quarantine", adminQuarantine},
	{"MaxHorizon", adminMaxHorizon},
	{"NamespaceClosed", func(s *suite) {
		o := s.declared()
		g := o.acquire()
		o.quarantine(lastTick, lastTick)
		o.wantNotGranted("in a closed namespace", o.request(), coord.ErrNamespaceClosed)
		_, err := o.Renew(s.ctx(), g, g.NotAfter+1)
		s.wantErr("Renew in a closed namespace", err, coord.ErrNamespaceClosed)
		if errors.Is(err, coord.ErrQuarantined) {
			s.Fatalf("Renew in a closed namespace: %v, as if that would end", err)
		}
		if slots := o.list(1); slots[0].NotAfter != g.NotAfter {
			safetytest.Of(s).Fatalf("List of a closed namespace: %+v; want the slot of %v", slots, g)
		}
	}},
	{"Lower", func(s *suite) {
		o := s.operator()
		_, err := o.Lower(s.ctx())
		s.wantErr("Lower where there is no namespace", err, coord.ErrInvalid)
		o.init()
		asked := s.now + 360*s.horizon
		for _, want := range []int64{0, asked} {
			o.quarantine(want, want)
			if floor, err := o.Lower(s.ctx()); err != nil || !floor.Equal(timeOf(want)) {
				s.Fatalf("Lower of the floor at %v, which was asked for: %v, %v", timeOf(want), floor, err)
			}
		}
		o.quarantine(lastTick, lastTick)
		_, err = o.Lower(s.ctx())
		s.wantErr("Lower of a closed namespace", err, coord.ErrNamespaceClosed)
	}},
	{"Retire", adminRetire},
	{"List", adminList},
}

func adminInit(s *suite) {
	o := s.operator()
	_, err := o.Quarantine(s.ctx(), time.Time{})
	s.wantErr("Quarantine where there is no namespace", err, coord.ErrInvalid)
	s.wantErr("Retire where there is no namespace", o.Retire(s.ctx(), 0), coord.ErrInvalid)
	for range 2 {
		o.init()
	}
	other := s.space()
	other.Fingerprint = layoutB
	s.wantMismatch("Init with another layout", o.Init(s.ctx(), other))
	s.wantErr("Init with nothing", o.Init(s.ctx(), coord.Space{}), coord.ErrInvalid)
	floor := s.at(0.5)
	o.quarantine(floor, floor)
	o.init()
	g := o.acquire()
	if g.NotBefore != floor {
		safetytest.Of(s).Fatalf("the floor is %d, and %v was granted after the namespace was declared "+
			"new again", floor, g)
	}
	o.release(g, g.NotBefore)
	s.wantErr("Init where there was a grant", o.Init(s.ctx(), s.space()), coord.ErrInvalid)
}

func adminQuarantine(s *suite) {
	o := s.declared()
	g := o.acquire()
	floor := g.NotAfter + s.horizon
	o.quarantine(floor, floor)
	o.quarantine(floor-s.horizon/2, floor)
	_, err := o.Renew(s.ctx(), g, g.NotAfter+1)
	if q, ok := errors.AsType[*coord.QuarantinedError](err); !ok || q.Until.Before(timeOf(floor)) {
		safetytest.Unless(s, err).Fatalf("Renew below the floor: %v; want a QuarantinedError until %v",
			err, timeOf(floor))
	}
	req := o.request()
	req.Until = floor + 1
	if h := o.acquireWith(req); h.NotBefore != floor || h.NotAfter != floor+1 {
		safetytest.Of(s).Fatalf("Acquire until %d with the floor at %d: %v", req.Until, floor, h)
	}
	for _, far := range []time.Time{
		timeOf(lastTick + 1),
		time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(300_000, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		_, err := o.Quarantine(s.ctx(), far)
		s.wantErr("Quarantine beyond the layout, until "+far.String(), err, coord.ErrInvalid)
	}
	o.quarantine(s.now, floor)
	o.quarantineForALoss(o.Describe().Rules.MaxHorizon)
}

// quarantineForALoss asks for as long as windows reach ahead, which the back end must know.
func (o operated) quarantineForALoss(ahead time.Duration) {
	o.Helper()
	before := time.Now()
	floor, err := o.Quarantine(o.ctx(), time.Time{})
	if err != nil || floor.Before(before.Add(ahead)) ||
		floor.After(time.Now().Add(ahead+time.Minute)) {
		safetytest.Unless(o, err).Fatalf(
			"Quarantine for as long as can be needed: until %v, %v; it is %v, and windows reach %v ahead",
			floor, err, time.Now(), ahead)
	}
}

func adminRetire(s *suite) {
	o := s.declared()
	for _, id := range []int{-1, capacity} {
		s.wantErr("Retire of what no layout has", o.Retire(s.ctx(), id), coord.ErrInvalid)
	}
	g := o.acquire()
	o.retire(g.WorkerID)
	o.wantNotRenewed(g, coord.ErrLeaseLost)  // of a retired worker ID
	o.wantNotReleased(g, coord.ErrLeaseLost) // of a retired worker ID
	full := func(inUse, of int) {
		s.Helper()
		h, err := o.Acquire(s.ctx(), o.request())
		if full, ok := errors.AsType[*coord.NoWorkerIDError](err); !ok || full.InUse != inUse ||
			full.Capacity != of || inUse == 0 && !full.Soonest.IsZero() {
			s.Fatalf("Acquire where %d of %d worker IDs are held that are not retired: %v, %#v", inUse, of,
				h, err)
		}
	}
	h := o.acquire()
	full(1, 1)
	o.release(h, h.NotBefore)
	o.retire(h.WorkerID)
	full(0, 0)
	o.retire(7) // that was never granted
	slots := o.list(3)
	for i, want := range []int{0, 1, 7} {
		if slots[i].WorkerID != want || slots[i].State != coord.SlotRetired {
			safetytest.Of(s).Fatalf("List: %+v; want worker IDs 0, 1 and 7 retired", slots)
		}
	}
}

func adminList(s *suite) {
	o := s.operator()
	o.list(0) // where there is no namespace
	o.init()
	began := time.Now()
	grants := make([]coord.Grant, 3)
	for i := range grants {
		req := o.request()
		req.Workers, req.Identity, req.Holder = coord.Range{First: i, Count: 1}, "pod/ä", "host:17"
		grants[i] = o.acquireWith(req)
	}
	o.release(grants[1], grants[1].NotBefore)
	o.retire(2)
	slots := o.list(len(grants))
	const slack = 5 * time.Second // between this machine's clock and the back end's
	for i, state := range []coord.SlotState{coord.SlotHeld, coord.SlotFree, coord.SlotRetired} {
		slot := slots[i]
		if slot.WorkerID != i || slot.State != state || slot.Layout != layoutA ||
			slot.Holder != "host:17" || slot.Identity != "pod/ä" || slot.Generation < grants[i].Generation {
			s.Errorf("slot %d is %+v; want it %v, of generation %d or later, held by host:17, pod/ä", i,
				slot, state, grants[i].Generation)
		}
		if slot.Since.Before(began.Add(-slack)) || slot.Renewed.Before(slot.Since) ||
			slot.Renewed.After(time.Now().Add(slack)) {
			s.Errorf("slot %d is held since %v, renewed %v; the case began at %v", i, slot.Since,
				slot.Renewed, began)
		}
	}
	held := slots[0]
	if held.NotAfter != grants[0].NotAfter || !held.Until.Equal(timeOf(held.NotAfter+1)) {
		safetytest.Of(s).Errorf("the window of %+v; granted was %v", held, grants[0])
	}
}

package protocol

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// The file of vectors has what the pure functions of this package make of many inputs.
// Where the protocol is written in another language, as in the scripts of coord/redis, a
// test replays it, so that none of the two can change alone.
const vectorsFile = "testdata/vectors.json"

// vector is one call of a function, whose name is the step.
type vector struct {
	Step string `json:"step"`
	In   any    `json:"in"`
	Out  any    `json:"out"`
}

// These are the parts of the records that the steps read and write. Ticks and times stay
// below 2^53, which is as far as every language counts exactly.
type (
	slotPart struct {
		Token      string `json:"token"`
		Generation uint64 `json:"generation"`
		NotBefore  int64  `json:"notBefore"`
		NotAfter   int64  `json:"notAfter"`
		LastTick   int64  `json:"lastTick"`
		Retired    bool   `json:"retired"`
	}
	grantPart struct {
		NotBefore int64 `json:"notBefore"`
		NotAfter  int64 `json:"notAfter"`
	}
	metaPart struct {
		Fingerprint string `json:"fingerprint"`
		Epoch       int64  `json:"epoch"`
		Unit        int64  `json:"unit"`
		LastTick    int64  `json:"lastTick"`
		MaxHorizon  int64  `json:"maxHorizon"`
		Floor       int64  `json:"floor"`
		Base        int64  `json:"base"`
		Loss        Loss   `json:"loss"`
	}
)

func (p slotPart) slot() Slot {
	return Slot{Token: p.Token, Generation: p.Generation, NotBefore: p.NotBefore, NotAfter: p.NotAfter, LastTick: p.LastTick, Retired: p.Retired}
}

func partOf(s Slot) slotPart {
	return slotPart{s.Token, s.Generation, s.NotBefore, s.NotAfter, s.LastTick, s.Retired}
}

func (p grantPart) grant() coord.Grant {
	return coord.Grant{NotBefore: p.NotBefore, NotAfter: p.NotAfter}
}

func (p metaPart) meta() Meta {
	return Meta{
		Fingerprint: p.Fingerprint, Epoch: p.Epoch, Unit: p.Unit, LastTick: p.LastTick,
		MaxHorizon: p.MaxHorizon, Floor: p.Floor, Base: p.Base, Loss: p.Loss,
	}
}

func metaPartOf(m Meta) metaPart {
	return metaPart{m.Fingerprint, m.Epoch, m.Unit, m.LastTick, m.MaxHorizon, m.Floor, m.Base, m.Loss}
}

// vectorSource makes inputs, always the same.
type vectorSource struct {
	*rand.Rand
	out []vector
}

func (v *vectorSource) add(step string, in, out any) { v.out = append(v.out, vector{step, in, out}) }

// of returns one of the values.
func (v *vectorSource) of(values ...int64) int64 { return values[v.IntN(len(values))] }

// slot returns a slot, and a grant that may be its.
func (v *vectorSource) slot() (slotPart, grantPart) {
	by := v.of(0, 1<<40, 1<<53-1-1000)
	s := slotPart{Token: "a", Generation: uint64(v.of(1, 7, 1<<52)), NotBefore: by + v.of(10, 20, 30), LastTick: by + 1000}
	s.NotAfter = s.NotBefore + v.of(0, 10, 20, 960)
	g := grantPart{NotBefore: by + v.of(5, 10, 20, 30)}
	g.NotAfter = g.NotBefore + v.of(0, 5, 10, 20, 30)
	return s, g
}

// tick is a tick about a slot.
func (v *vectorSource) tick(s slotPart) int64 {
	return max(0, s.LastTick-1000+v.of(0, 9, 10, 20, 25, 30, 39, 40, 41, 50, 60, 990, 998, 999, 1000))
}

// steps adds the functions of a slot.
func (v *vectorSource) steps() {
	for range 150 {
		s, g := v.slot()
		floor, until := v.tick(s), v.tick(s)+v.of(0, 0, 1)
		next, from, grows := s.slot().Extended(g.grant(), floor, until, 0)
		v.add("extended", struct {
			Slot  slotPart  `json:"slot"`
			Grant grantPart `json:"grant"`
			Floor int64     `json:"floor"`
			Until int64     `json:"until"`
		}{s, g, floor, min(until, 1<<53-1)}, struct {
			Slot  slotPart `json:"slot"`
			From  int64    `json:"from"`
			Grows bool     `json:"grows"`
		}{partOf(next), from, grows})
	}
	for range 50 {
		s, g := v.slot()
		last := v.tick(s)
		v.add("trimmed", struct {
			Slot  slotPart  `json:"slot"`
			Grant grantPart `json:"grant"`
			Last  int64     `json:"last"`
		}{s, g, last}, partOf(s.slot().Trimmed(g.grant(), last)))
	}
	for range 50 {
		s, _ := v.slot()
		floor, until := min(v.tick(s), s.LastTick-2), v.tick(s)
		req := coord.Request{Token: "b", Until: until, LastTick: s.LastTick}
		v.add("granted", struct {
			Slot  slotPart `json:"slot"`
			Floor int64    `json:"floor"`
			Until int64    `json:"until"`
			Token string   `json:"token"`
		}{s, floor, until, req.Token}, partOf(Candidate{Slot: s.slot()}.Granted(Meta{Floor: floor}, req, 0)))
	}
	for range 10 {
		s, _ := v.slot()
		v.add("resumed", struct {
			Slot  slotPart `json:"slot"`
			Token string   `json:"token"`
		}{s, "b"}, partOf(s.slot().Resumed("b")))
		if v.IntN(3) == 0 {
			s = slotPart{}
		}
		meta := metaPart{LastTick: 1000}
		v.add("withdrawn", struct {
			Slot slotPart `json:"slot"`
			Meta metaPart `json:"meta"`
		}{s, meta}, partOf(s.slot().Withdrawn(meta.meta(), 0, 0)))
	}
}

// meta returns the record of a namespace in some state, at a time.
func (v *vectorSource) meta(at int64) metaPart {
	m := metaPart{Fingerprint: "layout", Epoch: v.Int64N(at), Unit: v.of(1, 1000, 10_000, 3000), MaxHorizon: v.Int64N(3) * 40_000}
	now := clock.Scale{Epoch: m.Epoch, Unit: m.Unit}.Tick(at)
	tick := func() int64 { return max(now+v.Int64N(200_000)-100_000, 0) }
	m.LastTick = 1<<52 - 1
	if v.IntN(2) == 0 {
		m.LastTick = max(tick(), 10)
	}
	m.Floor = min(tick(), m.LastTick)
	if v.IntN(2) == 0 {
		m.Base = v.Int64N(m.Floor + 1)
	}
	if v.IntN(2) == 0 {
		m.Loss = Loss{Nonce: "x", Floor: min(max(m.Floor-v.Int64N(50_000), 0), m.LastTick-1), Found: at - v.Int64N(1e9)}
	}
	return m
}

// lossIn is what the functions of a namespace are called with. Durations are in
// microseconds.
type lossIn struct {
	Meta       metaPart  `json:"meta"`
	Now        int64     `json:"now"`
	MaxHorizon int64     `json:"maxHorizon"`
	SkewBound  int64     `json:"skewBound"`
	Known      *metaPart `json:"known,omitempty"` // that the process knew
	Nonce      string    `json:"nonce,omitempty"` // of the loss that the process knew
	Seen       int64     `json:"seen,omitempty"`
	Until      int64     `json:"until,omitempty"`
}

// losses adds the functions of a namespace.
func (v *vectorSource) losses(t *testing.T) {
	t.Helper()
	for range 40 {
		at := 1e15 + v.Int64N(1e15)
		in := lossIn{Meta: v.meta(at), Now: at, MaxHorizon: v.Int64N(60e6), SkewBound: v.of(0, 700_000)}
		horizon, skew := time.Duration(in.MaxHorizon)*time.Microsecond, time.Duration(in.SkewBound)*time.Microsecond

		after := in
		known := &metaPart{Fingerprint: "layout", Floor: min(max(in.Meta.Floor+v.Int64N(200_000)-100_000, 0), in.Meta.LastTick)}
		known.Base = v.Int64N(known.Floor + 1)
		var remembered *Meta
		switch after.Known = known; v.IntN(3) {
		case 0:
			after.Known = nil
		case 1:
			known.Fingerprint = "other"
		}
		if after.Known != nil {
			m := known.meta()
			remembered = &m
		}
		lost := in.Meta.meta().AfterLoss(remembered, at, horizon, skew)
		lost.Loss.Nonce = "fresh"
		v.add("afterLoss", after, metaPartOf(lost))

		settles := in
		settles.Nonce, settles.Seen = []string{"", "x", "y"}[v.IntN(3)], at-v.Int64N(100e6)
		if v.IntN(4) > 0 { // it is a matter of one tick
			m := settles.Meta.meta()
			settles.Meta.Loss.Nonce = "x"
			settles.Meta.Loss.Floor = min(m.Ward(settles.Seen, horizon, skew)+2*m.Scale().TicksUp(in.SkewBound)+v.Int64N(3)-1, m.LastTick-1)
			settles.Meta.Floor = max(m.Floor, settles.Meta.Loss.Floor)
		}
		v.add("settles", settles, settles.Meta.meta().Settles(settles.Nonce, settles.Seen, horizon, skew))

		raised := in
		raised.Until = min(in.Meta.meta().Scale().Micro(in.Meta.LastTick-50_000+v.Int64N(100_000)), 1<<53-1)
		if m, err := raised.Meta.meta().Quarantine(Time(raised.Until)); err != nil {
			v.add("quarantine", raised, "BEYOND")
		} else {
			v.add("quarantine", raised, metaPartOf(m))
		}

		if m, err := in.Meta.meta().Lowered(at, horizon, skew); err != nil {
			v.add("lowered", in, "CLOSED")
		} else {
			v.add("lowered", in, metaPartOf(m))
		}
	}
}

// copies adds the function that tells a copy of a holder.
func (v *vectorSource) copies() {
	for range 50 {
		s, g := v.slot()
		asked := v.tick(s)
		v.add("copied", struct {
			Slot  slotPart  `json:"slot"`
			Grant grantPart `json:"grant"`
			Asked int64     `json:"asked"`
		}{s, g, asked}, s.slot().Copied(g.grant(), NewExtent(asked)))
	}
}

// TestVectors checks that the file of vectors is what the functions compute. With -update
// it is written anew: then the scripts of coord/redis have to follow.
func TestVectors(t *testing.T) {
	v := vectorSource{Rand: rand.New(rand.NewPCG(7, 8))}
	v.steps()
	v.losses(t)
	v.copies()
	var file bytes.Buffer
	for i, vec := range v.out {
		line, err := json.Marshal(vec)
		if err != nil {
			t.Fatal(err)
		}
		file.WriteString([]string{"[\n", ",\n"}[min(i, 1)])
		file.Write(line)
	}
	file.WriteString("\n]\n")
	if *update {
		if err := os.WriteFile(vectorsFile, file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stored, file.Bytes()) {
		t.Errorf("%s is not what the functions compute; if they are right, write it anew with -update and let every copy of them follow", vectorsFile)
	}
}

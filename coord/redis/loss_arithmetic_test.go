package redis

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// randomMeta returns the record of a namespace in some state, at a time.
func randomMeta(r *rand.Rand, at int64) protocol.Meta {
	m := protocol.Meta{Fingerprint: "layout", Epoch: r.Int64N(at), Unit: []int64{1, 1000, 10_000, 3000}[r.IntN(4)], MaxHorizon: r.Int64N(3) * 40_000}
	now := m.Scale().Tick(at)
	tick := func() int64 { return max(now+r.Int64N(200_000)-100_000, 0) }
	m.LastTick = 1<<52 - 1
	if r.IntN(4) == 0 {
		m.LastTick = max(tick(), 10)
	}
	m.Floor = min(tick(), m.LastTick)
	m.Base = r.Int64N(m.Floor + 1)
	if r.IntN(2) == 0 {
		m.Loss = protocol.Loss{Nonce: "x", Floor: min(r.Int64N(m.Floor+1), m.LastTick-1), Found: at - r.Int64N(1e9)}
	}
	return m
}

// TestLossArithmetic: what the scripts make of a loss is what Go makes of it.
func TestLossArithmetic(t *testing.T) {
	client := redistest.Start(t, redistest.Options{}).Client(t)
	compute := newScript(preamble, namespaceSource, `
now = tonumber(args[2])
local function of(change)
  local meta = cjson.decode(args[1])
  local result
  local ok, r = pcall(function() result = change(meta) end)
  if not ok then return r.reply and r.reply[1] or tostring(r) end
  return encode({{'floor', 'number'}, {'base', 'number'}, {'loss', 'table', LOSS}}, meta) .. tostring(result)
end
return {
  of(afterLoss),
  of(function(meta) return settles(meta, args[3], tonumber(args[4])) end),
  of(function(meta) quarantine(meta, tonumber(args[5])) end),
  of(lowered),
}`)
	random := rand.New(rand.NewPCG(5, 6))
	const skew = 700 * time.Millisecond
	for range 500 {
		at := 1e15 + random.Int64N(1e15)
		m, horizon := randomMeta(random, at), time.Duration(random.Int64N(60e9))
		name, seen := []string{"", "x", "y"}[random.IntN(3)], at-random.Int64N(100e6)
		if m.Loss.Nonce != "" && random.IntN(2) == 0 { // one that it is a matter of one tick for
			margin := 2 * m.Scale().TicksUp(skew.Microseconds())
			m.Loss.Floor = min(m.Ward(seen, horizon, skew)+margin+random.Int64N(3)-1, m.LastTick-1)
			m.Floor = max(m.Floor, m.Loss.Floor)
		}
		known := &protocol.Meta{Fingerprint: "layout", Floor: min(max(m.Floor+random.Int64N(200_000)-100_000, 0), m.LastTick)}
		known.Base = random.Int64N(known.Floor + 1)
		memory := snapshot{fingerprint: "layout", nonce: "n", floor: known.Floor, base: known.Base}
		switch random.IntN(3) {
		case 0:
			known, memory = nil, snapshot{}
		case 1:
			known.Fingerprint, memory.fingerprint = "other", "other"
		}
		wanted := m.LastTick - 50_000 + random.Int64N(100_000)

		lost := m.AfterLoss(known, at, horizon, skew)
		lost.Loss.Nonce = "fresh"
		show := func(m protocol.Meta, result string) string {
			b, err := json.Marshal(struct {
				Floor int64         `json:"floor"`
				Base  int64         `json:"base"`
				Loss  protocol.Loss `json:"loss"`
			}{m.Floor, m.Base, m.Loss})
			if err != nil {
				t.Fatal(err)
			}
			return string(b) + result
		}
		want := []string{
			show(lost, "nil"), show(m, fmt.Sprint(m.Settles(name, seen, horizon, skew))), "BEYOND", "CLOSED",
		}
		if q, err := m.Quarantine(protocol.Time(m.Scale().Micro(wanted))); err == nil {
			want[2] = show(q, "nil")
		}
		if l, err := m.Lowered(at, horizon, skew); err == nil {
			want[3] = show(l, "nil")
		}
		stored, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		args := append([]any{horizon.Microseconds(), skew.Microseconds(), 0, "fresh"}, memory.args()...)
		args = append(args, stored, at, name, seen, wanted)
		got, err := compute.Run(t.Context(), client, []string{"{ns}:slots"}, args...).StringSlice()
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%s at %d, known %+v, horizon %v: %v, %v; want %v", stored, at, known, horizon, got, err, want)
		}
	}
}

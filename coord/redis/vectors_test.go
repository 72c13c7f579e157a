package redis

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestVectors: what the scripts compute is what Go computes, step by step. Package
// protocol has made the file.
func TestVectors(t *testing.T) {
	file, err := os.ReadFile("../../internal/protocol/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Step    string
		In, Out json.RawMessage
	}
	if err := json.Unmarshal(file, &vectors); err != nil {
		t.Fatal(err)
	}
	client := redistest.Start(t, redistest.Options{}).Client(t)
	got, err := newScript(preamble, namespaceSource, slotSource, replaySource).
		Run(t.Context(), client, []string{"{ns}:slots"}, append(append([]any{0, 0, 0, "fresh"}, snapshot{}.args()...), string(file))...).StringSlice()
	if err != nil || len(got) != len(vectors) || len(got) == 0 {
		t.Fatalf("%d of %d vectors were computed: %v", len(got), len(vectors), err)
	}
	for i, v := range vectors {
		if got[i] != string(v.Out) {
			t.Errorf("%s of %s: %s; want %s", v.Step, v.In, got[i], v.Out)
		}
	}
}

// replaySource computes all vectors, and returns the results as JSON.
const replaySource = `
local PART = {
  {'token', 'string'}, {'generation', 'number'}, {'notBefore', 'number'}, {'notAfter', 'number'},
  {'lastTick', 'number'}, {'retired', 'boolean'},
}
local METAPART = {
  {'fingerprint', 'string'}, {'epoch', 'number'}, {'unit', 'number'}, {'lastTick', 'number'}, {'maxHorizon', 'number'},
  {'floor', 'number'}, {'base', 'number'}, {'loss', 'table', LOSS},
}
local function part(s) return encode(PART, s) end
local function metaPart(meta) return encode(METAPART, meta) end

now = 0
local steps = {
  extended = function(x)
    local from, grows = extended(x.slot, x.grant, x.floor, x['until'])
    return '{"slot":' .. part(x.slot) .. ',"from":' .. int(from) .. ',"grows":' .. tostring(grows) .. '}'
  end,
  copied = function(x) x.grant.asked = x.asked return tostring(copied(x.slot, x.grant)) end,
  trimmed = function(x) trimmed(x.slot, x.grant, x.last) return part(x.slot) end,
  granted = function(x)
    local meta = {floor = x.floor, lastTick = x.slot.lastTick, loss = {floor = 0}}
    return part(granted(meta, x.slot, {token = x.token, generation = x.slot.generation + 1, wanted = x['until'], lastTick = x.slot.lastTick}))
  end,
  resumed = function(x) resumed(x.slot, x.token) return part(x.slot) end,
  withdrawn = function(x) withdrawn(x.meta, x.slot, x.slot.generation + 1) return part(x.slot) end,
  afterLoss = function(x) afterLoss(x.meta) return metaPart(x.meta) end,
  settles = function(x) return tostring(settles(x.meta, x.nonce or '', x.seen)) end,
  quarantine = function(x) quarantine(x.meta, tick(x.meta, x['until'])) return metaPart(x.meta) end,
  lowered = function(x) lowered(x.meta) return metaPart(x.meta) end,
}
local out = {}
for i, vector in ipairs(cjson.decode(ARGV[#ARGV])) do
  local x = vector['in']
  now, horizon, skew = x.now or 0, x.maxHorizon or 0, x.skewBound or 0
  known = x.known or {}
  known.nonce = x.known and 'n' or ''
  local ok, r = pcall(steps[vector.step], x)
  out[i] = ok and r or type(r) == 'table' and quote(r.reply[1]) or tostring(r)
end
return out`

package protocol

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
)

// aMeta is a namespace with every field set.
func aMeta() Meta {
	m := NewMeta(coord.Space{
		Fingerprint: "41/10/12/1ms/2024-01-01T00:00:00Z",
		Scale:       clock.Scale{Epoch: 1_704_067_200_000_000, Unit: 1000},
		LastTick:    1<<41 - 1, Capacity: 1024,
	})
	m.Nonce, m.Lineage, m.MaxHorizon, m.Floor, m.Base = "NONCE", "LINEAGE", 3_600_000, 9000, 70
	m.Loss = Loss{Nonce: "LOSS", Floor: 9000, Found: 1_704_067_205_000_000}
	return m
}

func TestBadMeta(t *testing.T) {
	good, err := Encode(aMeta())
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ old, with, want string }{
		{`"version":2,"minReader":2`, `"version":1`, "made by a version of unalike before the first " +
			"release (record version 1, this program reads version 3); stop its generators"},
		{
			`"version":2,"minReader":2`, `"version":7,"minReader":4`,
			"wants programs that read record version 4; this one reads version 3: update this program",
		},
		{`"version":2,"minReader":2`, `"version":"2","minReader":2`, `version is "2"; it is 1 or more`},
		{`"minReader":2,`, ``, `the field "minReader" is missing`},
		{`"nonce":"NONCE"`, `"nonce":""`, "nonce is empty"},
		{`"base":70`, `"base":9001`, "base is 9001 and floor is 9000; the floor is not below the base"},
		{`"base":70`, `"base":-1`, "a tick is 0 or more"},
		{
			`"maxHorizon":3600000`, `"maxHorizon":-1`,
			"maxHorizon is -1 ms; it is 0 to 31622400000, which is a year",
		},
		{`"maxHorizon":3600000`, `"maxHorizon":9223372036854775807`, "it is 0 to 31622400000"},
		{`"nonce":"LOSS"`, `"nonce":""`, "the loss has no nonce"},
		{`"floor":9000,"base"`, `"floor":9000,"floor":9000,"base"`, `a field is given twice`},
		{`"floor":9000,"base":70`, `"base":70,"floor":9000`, "out of order"},
		{`}}`, `}`, "perhaps truncated"},
	} {
		value := strings.Replace(good, tc.old, tc.with, 1)
		if value == good {
			t.Fatalf("%q does not occur", tc.old)
		}
		if m, err := Decode[Meta]([]byte(value)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s in place of %s: %+v, %v; want an error with %q", tc.with, tc.old, m, err, tc.want)
		}
	}
}

var testLimits = Limits{2 * time.Second, time.Second}

// at is a time so many ticks after the epoch.
func at(tick int64) int64 { return aMeta().Scale().Micro(tick) }

func TestAfterLoss(t *testing.T) {
	m := aMeta()
	m.MaxHorizon = 0
	known := m
	known.Floor, known.Base = 60_000, 50_000
	foreign := known
	foreign.Fingerprint = "another"
	for _, tc := range []struct {
		name        string
		known       Meta
		now         int64
		floor, base int64
		limit       int64
	}{
		{"horizon and bound from now on", Meta{}, at(20_000), 23_000, 70, 23_000},
		{"the floor is never lowered", Meta{}, at(1000), 9000, 70, 4000},
		{"a floor that was forgotten holds on", known, at(20_000), 60_000, 50_000, 23_000},
		{"unless it was that of another layout", foreign, at(20_000), 23_000, 70, 23_000},
		{"a clock before the epoch", Meta{}, at(-90_000), 9000, 70, 0},
		{"a clock beyond the layout's end closes nothing", Meta{}, at(1 << 42), 1<<41 - 2, 70, 1<<41 - 2},
	} {
		got := m.AfterLoss(tc.known, exactly(tc.now), testLimits)
		if got.Floor != tc.floor || got.Base != tc.base || got.Loss.Floor != tc.limit ||
			got.Loss.Found != tc.now || got.Closed() {
			t.Errorf("%s: %+v", tc.name, got)
		}
		if got.Loss.Nonce == "" || got.Loss.Nonce == m.Loss.Nonce || got.Nonce != m.Nonce {
			t.Errorf("%s: the nonces are %q and %q", tc.name, got.Nonce, got.Loss.Nonce)
		}
	}
	m.MaxHorizon = 3_600_000
	if got := m.AfterLoss(Meta{}, exactly(at(20_000)), testLimits); got.Floor != 3_621_000 {
		t.Errorf("in a namespace with windows of an hour the floor is %d", got.Floor)
	}
	m.Floor = m.LastTick
	if got := m.AfterLoss(Meta{}, exactly(at(20_000)), testLimits); !got.Closed() {
		t.Error("a closed namespace was opened")
	}
}

func TestQuarantineAndLower(t *testing.T) {
	m := aMeta()
	m.MaxHorizon, m.Floor, m.Base = 0, 0, 0
	m = m.AfterLoss(Meta{}, exactly(at(1_000_000)), testLimits) // by a clock that was wrong
	if got, err := m.Lowered(at(20_000), testLimits); err != nil || got.Floor != 23_000 ||
		got.Loss.Floor != 23_000 {
		t.Errorf("lowered: %+v, %v", got, err)
	}
	based, err := m.Quarantine(Time(at(500_000)))
	if err != nil || based.Floor != m.Floor || based.Base != 500_000 {
		t.Errorf("an operator's floor below the present one: %+v, %v", based, err)
	}
	got, err := based.Lowered(at(20_000), testLimits)
	if err != nil || got.Floor != 500_000 || got.Loss.Floor != 500_000 {
		t.Errorf("lowered to the base: %+v, %v", got, err)
	}
	if got, err := got.Lowered(at(2_000_000), testLimits); err != nil || got.Floor != 500_000 {
		t.Errorf("lowering has raised the floor: %+v, %v", got, err)
	}
	if got, err := m.Quarantine(Time(at(m.LastTick + 1))); !errors.Is(err, coord.ErrInvalid) ||
		got != m {
		t.Errorf("a floor beyond the end: %+v, %v", got, err)
	}
	closed, err := m.Quarantine(Time(at(m.LastTick)))
	if err != nil || !closed.Closed() {
		t.Errorf("closing: %+v, %v", closed, err)
	}
	if _, err := closed.Lowered(at(20_000), testLimits); !errors.Is(err, coord.ErrNamespaceClosed) {
		t.Errorf("lowering the floor of a closed namespace: %v", err)
	}
	if err := closed.Quarantined("orders", 0); !errors.Is(err, coord.ErrNamespaceClosed) ||
		errors.Is(err, coord.ErrQuarantined) {
		t.Errorf("a window in a closed namespace: %v", err)
	}
}

// What a loss near the end of the layout leaves is not granted: the last tick may lie in
// a window that was lost.
func TestLossAtTheEnd(t *testing.T) {
	m := aMeta()
	m = m.AfterLoss(Meta{}, exactly(at(m.LastTick)), testLimits)
	s := Slot{Token: "a", Generation: 1, NotBefore: 10, NotAfter: 20, LastTick: m.LastTick}
	if got, _, grows := s.Extended(coord.Grant{NotBefore: 10, NotAfter: 20}, m.Floor, m.LastTick,
		1); grows {
		t.Errorf("extended: %+v", got)
	}
}

package coord

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
)

const s = time.Second

func TestResolveLease(t *testing.T) {
	static := LeaseRules{Default: LeaseConfig{Horizon: 3 * s}}
	for _, tt := range []struct {
		name  string
		rules LeaseRules
		cfg   LeaseConfig
		want  LeaseConfig
	}{
		{"defaults", LeaseRules{}, LeaseConfig{}, LeaseConfig{TTL: 15 * s, Horizon: 30 * s, RenewEvery: 5 * s}},
		{"a driver's default", static, LeaseConfig{}, LeaseConfig{TTL: 15 * s, Horizon: 3 * s, RenewEvery: s}},
		{"configured", static, LeaseConfig{TTL: 9 * s, Horizon: 60 * s}, LeaseConfig{TTL: 9 * s, Horizon: 60 * s, RenewEvery: 3 * s}},
		{"set in the URL", LeaseRules{Set: LeaseConfig{TTL: 6 * s}}, LeaseConfig{}, LeaseConfig{TTL: 6 * s, Horizon: 30 * s, RenewEvery: 2 * s}},
		{"set in both, the same", LeaseRules{Set: LeaseConfig{TTL: 6 * s}}, LeaseConfig{TTL: 6 * s}, LeaseConfig{TTL: 6 * s, Horizon: 30 * s, RenewEvery: 2 * s}},
		{"at the limits", LeaseRules{MinTTL: 2 * s, MaxHorizon: 30 * s}, LeaseConfig{TTL: 2 * s, Horizon: 30 * s, RenewEvery: 2*s - 1}, LeaseConfig{TTL: 2 * s, Horizon: 30 * s, RenewEvery: 2*s - 1}},
		{"a long horizon", LeaseRules{MaxHorizon: 120 * s, MaxDeclared: LongestHorizon, Surviving: true}, LeaseConfig{Horizon: 6 * time.Hour}, LeaseConfig{TTL: 15 * s, Horizon: 6 * time.Hour, RenewEvery: 5 * s}},
		{"a day", LeaseRules{}, LeaseConfig{Horizon: 24 * time.Hour}, LeaseConfig{TTL: 15 * s, Horizon: 24 * time.Hour, RenewEvery: 5 * s}},
		{
			"the rest is kept",
			LeaseRules{},
			LeaseConfig{WorkerIDs: Range{First: 3, Count: 4}, Identity: "pod-a"},
			LeaseConfig{TTL: 15 * s, Horizon: 30 * s, RenewEvery: 5 * s, WorkerIDs: Range{First: 3, Count: 4}, Identity: "pod-a"},
		},
	} {
		got, err := ResolveLease(&stub{rules: tt.rules}, tt.cfg)
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
	if got, err := ResolveLease(nil, LeaseConfig{}); err != nil || got.TTL != DefaultTTL || got.Horizon != DefaultHorizon {
		t.Errorf("a coordinator without rules: %+v, %v", got, err)
	}
}

func TestResolveLeaseRefuses(t *testing.T) {
	for _, tt := range []struct {
		rules LeaseRules
		cfg   LeaseConfig
		want  string
	}{
		{LeaseRules{}, LeaseConfig{TTL: -s}, `TTL is -1s; it must be positive, or 0 for the default`},
		{LeaseRules{}, LeaseConfig{Horizon: math.MinInt64}, `Horizon is -2562047h47m16.854775808s; it must be positive, or 0 for the default`},
		{LeaseRules{Set: LeaseConfig{RenewEvery: -s}}, LeaseConfig{}, `RenewEvery is -1s; it must be positive, or 0 for the default`},
		{LeaseRules{Set: LeaseConfig{TTL: 6 * s}}, LeaseConfig{TTL: 7 * s}, `TTL is 7s in the configuration and 6s in the coordinator's URL or options; set it in one place`},
		{LeaseRules{Set: LeaseConfig{Horizon: 6 * s}}, LeaseConfig{Horizon: 7 * s}, `Horizon is 7s in the configuration and 6s in the coordinator's URL or options; set it in one place`},
		{LeaseRules{Set: LeaseConfig{RenewEvery: s}}, LeaseConfig{RenewEvery: 2 * s}, `RenewEvery is 2s in the configuration and 1s in the coordinator's URL or options; set it in one place`},
		{LeaseRules{MinTTL: 2 * s}, LeaseConfig{TTL: s}, `TTL is 1s; this coordinator needs at least 2s`},
		{LeaseRules{MaxHorizon: 30 * s}, LeaseConfig{Horizon: 31 * s}, `Horizon is 31s; at most 30s is allowed here`},
		{LeaseRules{MaxHorizon: 120 * s, MaxDeclared: LongestHorizon}, LeaseConfig{Horizon: 6 * time.Hour}, `Horizon is 6h0m0s; at most 2m0s is allowed without a state file: a longer one needs a state file (state=FILE), because a crash loop would shut worker IDs for as long, and a namespace that is declared with it (unalike init --max-horizon)`},
		{LeaseRules{MaxHorizon: 120 * s, MaxDeclared: LongestHorizon, Surviving: true}, LeaseConfig{Horizon: 25 * time.Hour}, `Horizon is 25h0m0s; at most 24h0m0s is allowed here`},
		{LeaseRules{MaxHorizon: 30 * s, Surviving: true}, LeaseConfig{Horizon: 6 * time.Hour}, `Horizon is 6h0m0s; at most 30s is allowed here`},
		{LeaseRules{}, LeaseConfig{Horizon: 24*time.Hour + 1}, `Horizon is 24h0m0.000000001s; at most 24h0m0s is allowed here`},
		{LeaseRules{}, LeaseConfig{TTL: 2}, `RenewEvery is 0s, with TTL 2ns and Horizon 30s; it must be at least 5ms`},
		{LeaseRules{}, LeaseConfig{Horizon: 3}, `RenewEvery is 1ns, with TTL 15s and Horizon 3ns; it must be at least 5ms`},
		{LeaseRules{}, LeaseConfig{RenewEvery: 4 * time.Millisecond}, `RenewEvery is 4ms, with TTL 15s and Horizon 30s; it must be at least 5ms`},
		{LeaseRules{}, LeaseConfig{TTL: s, RenewEvery: s}, `RenewEvery is 1s; it must be less than TTL, which is 1s`},
		{LeaseRules{}, LeaseConfig{Horizon: 8 * s, RenewEvery: 5 * s}, `RenewEvery is 5s; it must be at most half of Horizon, which is 8s`},
		{LeaseRules{}, LeaseConfig{Identity: strings.Repeat("x", 129)}, `Identity is 129 bytes long; at most 128 are allowed`},
		{LeaseRules{}, LeaseConfig{Identity: "a\nb"}, `Identity "a\nb" contains the unprintable character U+000A`},
	} {
		_, err := ResolveLease(&stub{rules: tt.rules}, tt.cfg)
		wantInvalid(t, tt.want, err, "coord: invalid: "+tt.want)
	}
}

func TestHorizonTicks(t *testing.T) {
	for _, tt := range []struct {
		max, horizon, unit time.Duration
		want               int64
		err                string
	}{
		{0, 30 * s, time.Millisecond, 30_000, ""},
		{0, 30*s - 1, 10 * time.Millisecond, 2999, ""},
		{30 * s, 30 * s, 10 * s, 3, ""},
		{30 * s, 30 * s, 11 * s, 0, `Horizon is 30s, which makes 3 ticks of 11s; at most 30s is allowed here; use a layout with a shorter unit`},
		{0, 30 * s, 8 * time.Hour, 3, ""},
		{0, 30 * s, 9 * time.Hour, 0, `Horizon is 30s, which makes 3 ticks of 9h0m0s; at most 24h0m0s is allowed here; use a layout with a shorter unit`},
	} {
		got, err := HorizonTicks(&stub{rules: LeaseRules{MaxHorizon: tt.max}}, LeaseConfig{Horizon: tt.horizon}, clock.Scale{Unit: tt.unit.Microseconds()})
		if tt.err != "" {
			wantInvalid(t, tt.err, err, "coord: invalid: "+tt.err)
		} else if got != tt.want || err != nil {
			t.Errorf("%v in ticks of %v: %d, %v; want %d", tt.horizon, tt.unit, got, err, tt.want)
		}
	}
}

func TestRangeWithin(t *testing.T) {
	for _, tt := range []struct {
		in, want Range
		err      string
	}{
		{in: Range{}, want: Range{Count: 16}},
		{in: Range{First: 15}, want: Range{First: 15, Count: 1}},
		{in: Range{First: 4, Count: 12}, want: Range{First: 4, Count: 12}},
		{in: Range{First: -1}, err: `WorkerIDs.First is -1; the layout has worker IDs 0 to 15`},
		{in: Range{First: 16}, err: `WorkerIDs.First is 16; the layout has worker IDs 0 to 15`},
		{in: Range{First: 4, Count: 13}, err: `WorkerIDs.Count is 13; from 4 on the layout has 12 worker IDs`},
		{in: Range{Count: -1}, err: `WorkerIDs.Count is -1; from 0 on the layout has 16 worker IDs`},
		{in: Range{First: 1, Count: math.MaxInt}, err: `WorkerIDs.Count is 9223372036854775807; from 1 on the layout has 15 worker IDs`},
	} {
		got, err := tt.in.Within(16)
		if tt.err != "" {
			if math.MaxInt > math.MaxInt32 || tt.in.Count != math.MaxInt {
				wantInvalid(t, tt.in.String(), err, "coord: invalid: "+tt.err)
			}
		} else if err != nil || got != tt.want {
			t.Errorf("%+v: %+v, %v; want %+v", tt.in, got, err, tt.want)
		}
	}
	for r, want := range map[Range]string{{}: "0-", {First: 3}: "3-", {First: 3, Count: 4}: "3-6", {First: 3, Count: 1}: "3-3"} {
		if r.String() != want {
			t.Errorf("%#v is printed as %s; want %s", r, r, want)
		}
	}
}

func TestCheckNamespace(t *testing.T) {
	for _, good := range []string{"n", "orders.v1", "größe-1_x", strings.Repeat("x", 128), "...", "a=b"} {
		if err := CheckNamespace(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for name, want := range map[string]string{
		"":                       `namespace is empty; 1 to 128 bytes are allowed`,
		strings.Repeat("x", 129): `namespace is 129 bytes long; at most 128 are allowed`,
		"a/b":                    `namespace "a/b" contains '/'; none of / { } : * \ and no space is allowed`,
		"/a":                     `namespace "/a" contains '/'; none of / { } : * \ and no space is allowed`,
		"{a":                     `namespace "{a" contains '{'; none of / { } : * \ and no space is allowed`,
		"a}":                     `namespace "a}" contains '}'; none of / { } : * \ and no space is allowed`,
		"a:b":                    `namespace "a:b" contains ':'; none of / { } : * \ and no space is allowed`,
		"a*":                     `namespace "a*" contains '*'; none of / { } : * \ and no space is allowed`,
		`a\b`:                    `namespace "a\\b" contains '\\'; none of / { } : * \ and no space is allowed`,
		"a b":                    `namespace "a b" contains ' '; none of / { } : * \ and no space is allowed`,
		"a\x00":                  `namespace "a\x00" contains the unprintable character U+0000`,
		"a\x7f":                  `namespace "a\x7f" contains the unprintable character U+007F`,
		"a\u200b":                `namespace "a\u200b" contains the unprintable character U+200B`,
		"a\xff":                  `namespace "a\xff" is not valid UTF-8`,
		".":                      `namespace "." is reserved; choose another name`,
		"..":                     `namespace ".." is reserved; choose another name`,
	} {
		wantInvalid(t, name, CheckNamespace(name), "coord: invalid: "+want)
	}
}

func TestRequestValidate(t *testing.T) {
	good := Request{
		Token: "t", Fingerprint: "f", Scale: clock.Scale{Unit: 1000}, LastTick: 1, Workers: Range{Count: 4}, Capacity: 4,
		TTL: 1, Now: -5, Until: 9,
	}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Request){
		`Request.Token is empty; 1 to 128 bytes are allowed`:                             func(r *Request) { r.Token = "" },
		`Request.Token "a\n" contains the unprintable character U+000A`:                  func(r *Request) { r.Token = "a\n" },
		`Request.Identity is 129 bytes long; at most 128 are allowed`:                    func(r *Request) { r.Identity = strings.Repeat("x", 129) },
		`Request.Fingerprint is empty; it is the layout as core.Layout.String prints it`: func(r *Request) { r.Fingerprint = "" },
		`Request.Fingerprint "\xff" is not valid UTF-8`:                                  func(r *Request) { r.Fingerprint = "\xff" },
		`Request.Scale.Unit is 0 microseconds; it must be positive`:                      func(r *Request) { r.Scale.Unit = 0 },
		`Request.LastTick is 0; it must be positive`:                                     func(r *Request) { r.LastTick = 0 },
		`Request.TTL is -1ns; it must be positive`:                                       func(r *Request) { r.TTL = -1 },
		`Request.Ahead is -1 ticks; it must not be negative`:                             func(r *Request) { r.Ahead = -1 },
		`Request.Workers.Count is 0; it must be positive`:                                func(r *Request) { r.Workers.Count = 0 },
		`WorkerIDs.Count is 5; from 0 on the layout has 4 worker IDs`:                    func(r *Request) { r.Workers.Count = 5 },
		`WorkerIDs.First is 4; the layout has worker IDs 0 to 3`:                         func(r *Request) { r.Workers.First = 4 },
	} {
		r := good
		spoil(&r)
		wantInvalid(t, want, r.Validate(), "coord: invalid: "+want)
	}
}

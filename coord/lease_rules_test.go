package coord

import (
	"math"
	"strings"
	"testing"
	"time"
)

const s = time.Second

func TestLeaseRules_Resolve(t *testing.T) {
	static := LeaseRules{Default: LeaseConfig{Horizon: 3 * s}}
	for _, tt := range []struct {
		name  string
		rules LeaseRules
		cfg   LeaseConfig
		want  LeaseConfig
	}{
		{
			"defaults",
			LeaseRules{},
			LeaseConfig{},
			LeaseConfig{TTL: 15 * s, Horizon: 30 * s, RenewEvery: 5 * s},
		},
		{
			"a driver's default", static,
			LeaseConfig{},
			LeaseConfig{TTL: 15 * s, Horizon: 3 * s, RenewEvery: s},
		},
		{
			"configured", static,
			LeaseConfig{TTL: 9 * s, Horizon: 60 * s},
			LeaseConfig{TTL: 9 * s, Horizon: 60 * s, RenewEvery: 3 * s},
		},
		{
			"set in the URL",
			LeaseRules{Set: LeaseConfig{TTL: 6 * s}},
			LeaseConfig{},
			LeaseConfig{TTL: 6 * s, Horizon: 30 * s, RenewEvery: 2 * s},
		},
		{
			"set in both, the same",
			LeaseRules{Set: LeaseConfig{TTL: 6 * s}},
			LeaseConfig{TTL: 6 * s},
			LeaseConfig{TTL: 6 * s, Horizon: 30 * s, RenewEvery: 2 * s},
		},
		{
			"at the limits",
			LeaseRules{MinTTL: 2 * s, MaxHorizon: 30 * s},
			LeaseConfig{TTL: 2 * s, Horizon: 30 * s, RenewEvery: 2*s - 1},
			LeaseConfig{TTL: 2 * s, Horizon: 30 * s, RenewEvery: 2*s - 1},
		},
		{"a long horizon", LeaseRules{
			MaxHorizon: 120 * s, MaxDeclared: LongestHorizon,
			Surviving: true,
		}, LeaseConfig{Horizon: 6 * time.Hour}, LeaseConfig{
			TTL:     15 * s,
			Horizon: 6 * time.Hour, RenewEvery: 5 * s,
		}},
		{
			"the rest is kept",
			LeaseRules{},
			LeaseConfig{WorkerIDs: Range{First: 3, Count: 4}, Identity: "pod-a"},
			LeaseConfig{
				TTL: 15 * s, Horizon: 30 * s, RenewEvery: 5 * s,
				WorkerIDs: Range{First: 3, Count: 4}, Identity: "pod-a",
			},
		},
	} {
		got, err := tt.rules.Resolve(tt.cfg)
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
}

func TestLeaseRules_ResolveRefuses(t *testing.T) {
	for _, tt := range []struct {
		rules LeaseRules
		cfg   LeaseConfig
		want  string
	}{
		{
			LeaseRules{},
			LeaseConfig{TTL: -s},
			`TTL is -1s; it must be positive, or 0 for the default`,
		},
		{
			LeaseRules{},
			LeaseConfig{Horizon: math.MinInt64},
			`Horizon is -2562047h47m16.854775808s; it must be positive, or 0 for the default`,
		},
		{
			LeaseRules{Set: LeaseConfig{RenewEvery: -s}},
			LeaseConfig{},
			`RenewEvery is -1s; it must be positive, or 0 for the default`,
		},
		{
			LeaseRules{Set: LeaseConfig{TTL: 6 * s}},
			LeaseConfig{TTL: 7 * s},
			`TTL is 7s in the configuration and 6s in the coordinator's URL or options; set it ` +
				`in one place`,
		},
		{
			LeaseRules{Set: LeaseConfig{Horizon: 6 * s}},
			LeaseConfig{Horizon: 7 * s},
			`Horizon is 7s in the configuration and 6s in the coordinator's URL or options; set it ` +
				`in one place`,
		},
		{
			LeaseRules{Set: LeaseConfig{RenewEvery: s}},
			LeaseConfig{RenewEvery: 2 * s},
			`RenewEvery is 2s in the configuration and 1s in the coordinator's URL or options; set it ` +
				`in one place`,
		},
		{
			LeaseRules{MinTTL: 2 * s},
			LeaseConfig{TTL: s},
			`TTL is 1s; this coordinator needs at least 2s`,
		},
		{
			LeaseRules{MaxHorizon: 30 * s},
			LeaseConfig{Horizon: 31 * s},
			`Horizon is 31s; at most 30s is allowed here`,
		},
		{
			LeaseRules{MaxHorizon: 120 * s, MaxDeclared: LongestHorizon},
			LeaseConfig{Horizon: 6 * time.Hour},
			`Horizon is 6h0m0s; at most 2m0s is allowed without ` +
				`a state file: a longer one needs a state file (state=FILE), because a crash loop would shut ` +
				`worker IDs for as long, and a namespace that is declared with it (unalike init ` +
				`--max-horizon)`,
		},
		{
			LeaseRules{MaxHorizon: 120 * s, MaxDeclared: LongestHorizon, Surviving: true},
			LeaseConfig{Horizon: 25 * time.Hour},
			`Horizon is 25h0m0s; at most 24h0m0s is allowed here`,
		},
		{
			LeaseRules{MaxHorizon: 30 * s, Surviving: true},
			LeaseConfig{Horizon: 6 * time.Hour},
			`Horizon is 6h0m0s; at most 30s is allowed here`,
		},
		{
			LeaseRules{},
			LeaseConfig{Horizon: 24*time.Hour + 1},
			`Horizon is 24h0m0.000000001s; at most 24h0m0s is allowed here`,
		},
		{
			LeaseRules{},
			LeaseConfig{TTL: 2},
			`RenewEvery is 0s, with TTL 2ns and Horizon 30s; it must be at least 5ms`,
		},
		{
			LeaseRules{},
			LeaseConfig{RenewEvery: 4 * time.Millisecond},
			`RenewEvery is 4ms, with TTL 15s and Horizon 30s; it must be at least 5ms`,
		},
		{
			LeaseRules{},
			LeaseConfig{TTL: s, RenewEvery: s},
			`RenewEvery is 1s; it must be less than TTL, which is 1s`,
		},
		{
			LeaseRules{},
			LeaseConfig{Horizon: 8 * s, RenewEvery: 5 * s},
			`RenewEvery is 5s; it must be at most half of Horizon, which is 8s`,
		},
		{
			LeaseRules{},
			LeaseConfig{Identity: strings.Repeat("x", 129)},
			`Identity is 129 bytes long; at most 128 are allowed`,
		},
		{
			LeaseRules{},
			LeaseConfig{Identity: "a\nb"},
			`Identity "a\nb" contains the unprintable character U+000A`,
		},
	} {
		_, err := tt.rules.Resolve(tt.cfg)
		wantInvalid(t, tt.want, err, "unalike: invalid: "+tt.want)
	}
}

package driver

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

const s = time.Second

func TestResolveLease(t *testing.T) {
	static := coord.LeaseRules{Default: coord.LeaseConfig{Horizon: 3 * s}}
	for _, tt := range []struct {
		name  string
		rules coord.LeaseRules
		cfg   coord.LeaseConfig
		want  coord.LeaseConfig
	}{
		{
			"defaults",
			coord.LeaseRules{},
			coord.LeaseConfig{},
			coord.LeaseConfig{TTL: 15 * s, Horizon: 30 * s, RenewEvery: 5 * s},
		},
		{
			"a driver's default", static,
			coord.LeaseConfig{},
			coord.LeaseConfig{TTL: 15 * s, Horizon: 3 * s, RenewEvery: s},
		},
		{
			"configured", static,
			coord.LeaseConfig{TTL: 9 * s, Horizon: 60 * s},
			coord.LeaseConfig{TTL: 9 * s, Horizon: 60 * s, RenewEvery: 3 * s},
		},
		{
			"set in the URL",
			coord.LeaseRules{Set: coord.LeaseConfig{TTL: 6 * s}},
			coord.LeaseConfig{},
			coord.LeaseConfig{TTL: 6 * s, Horizon: 30 * s, RenewEvery: 2 * s},
		},
		{
			"set in both, the same",
			coord.LeaseRules{Set: coord.LeaseConfig{TTL: 6 * s}},
			coord.LeaseConfig{TTL: 6 * s},
			coord.LeaseConfig{TTL: 6 * s, Horizon: 30 * s, RenewEvery: 2 * s},
		},
		{
			"at the limits",
			coord.LeaseRules{MinTTL: 2 * s, MaxHorizon: 30 * s},
			coord.LeaseConfig{TTL: 2 * s, Horizon: 30 * s, RenewEvery: 2*s - 1},
			coord.LeaseConfig{TTL: 2 * s, Horizon: 30 * s, RenewEvery: 2*s - 1},
		},
		{"a long horizon", coord.LeaseRules{
			MaxHorizon: 120 * s, MaxDeclared: coord.LongestHorizon,
			Surviving: true,
		}, coord.LeaseConfig{Horizon: 6 * time.Hour}, coord.LeaseConfig{
			TTL:     15 * s,
			Horizon: 6 * time.Hour, RenewEvery: 5 * s,
		}},
		{
			"the rest is kept",
			coord.LeaseRules{},
			coord.LeaseConfig{WorkerIDs: coord.Range{First: 3, Count: 4}, Identity: "pod-a"},
			coord.LeaseConfig{
				TTL: 15 * s, Horizon: 30 * s, RenewEvery: 5 * s,
				WorkerIDs: coord.Range{First: 3, Count: 4}, Identity: "pod-a",
			},
		},
	} {
		got, err := ResolveLease(tt.rules, tt.cfg)
		if err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
}

func TestResolveLeaseRefuses(t *testing.T) {
	for _, tt := range []struct {
		rules coord.LeaseRules
		cfg   coord.LeaseConfig
		want  string
	}{
		{
			coord.LeaseRules{},
			coord.LeaseConfig{TTL: -s},
			`TTL is -1s; it must be positive, or 0 for the default`,
		},
		{
			coord.LeaseRules{},
			coord.LeaseConfig{Horizon: math.MinInt64},
			`Horizon is -2562047h47m16.854775808s; it must be positive, or 0 for the default`,
		},
		{
			coord.LeaseRules{Set: coord.LeaseConfig{RenewEvery: -s}},
			coord.LeaseConfig{},
			`RenewEvery is -1s; it must be positive, or 0 for the default`,
		},
		{
			coord.LeaseRules{Set: coord.LeaseConfig{TTL: 6 * s}},
			coord.LeaseConfig{TTL: 7 * s},
			`TTL is 7s in the configuration and 6s in the coordinator's URL or options; set it ` +
				`in one place`,
		},
		{
			coord.LeaseRules{Set: coord.LeaseConfig{Horizon: 6 * s}},
			coord.LeaseConfig{Horizon: 7 * s},
			`Horizon is 7s in the configuration and 6s in the coordinator's URL or options; set it ` +
				`in one place`,
		},
		{
			coord.LeaseRules{Set: coord.LeaseConfig{RenewEvery: s}},
			coord.LeaseConfig{RenewEvery: 2 * s},
			`RenewEvery is 2s in the configuration and 1s in the coordinator's URL or options; set it ` +
				`in one place`,
		},
		{
			coord.LeaseRules{MinTTL: 2 * s},
			coord.LeaseConfig{TTL: s},
			`TTL is 1s; this coordinator needs at least 2s`,
		},
		{
			coord.LeaseRules{MaxHorizon: 30 * s},
			coord.LeaseConfig{Horizon: 31 * s},
			`Horizon is 31s; at most 30s is allowed here`,
		},
		{
			coord.LeaseRules{MaxHorizon: 120 * s, MaxDeclared: coord.LongestHorizon},
			coord.LeaseConfig{Horizon: 6 * time.Hour},
			`Horizon is 6h0m0s; at most 2m0s is allowed without ` +
				`a state file: a longer one needs a state file (state=FILE), because a crash loop would shut ` +
				`worker IDs for as long, and a namespace that is declared with it (unalike init ` +
				`--max-horizon)`,
		},
		{
			coord.LeaseRules{MaxHorizon: 120 * s, MaxDeclared: coord.LongestHorizon, Surviving: true},
			coord.LeaseConfig{Horizon: 25 * time.Hour},
			`Horizon is 25h0m0s; at most 24h0m0s is allowed here`,
		},
		{
			coord.LeaseRules{MaxHorizon: 30 * s, Surviving: true},
			coord.LeaseConfig{Horizon: 6 * time.Hour},
			`Horizon is 6h0m0s; at most 30s is allowed here`,
		},
		{
			coord.LeaseRules{},
			coord.LeaseConfig{Horizon: 24*time.Hour + 1},
			`Horizon is 24h0m0.000000001s; at most 24h0m0s is allowed here`,
		},
		{
			coord.LeaseRules{},
			coord.LeaseConfig{TTL: 2},
			`RenewEvery is 0s, with TTL 2ns and Horizon 30s; it must be at least 5ms`,
		},
		{
			coord.LeaseRules{},
			coord.LeaseConfig{RenewEvery: 4 * time.Millisecond},
			`RenewEvery is 4ms, with TTL 15s and Horizon 30s; it must be at least 5ms`,
		},
		{
			coord.LeaseRules{},
			coord.LeaseConfig{TTL: s, RenewEvery: s},
			`RenewEvery is 1s; it must be less than TTL, which is 1s`,
		},
		{
			coord.LeaseRules{},
			coord.LeaseConfig{Horizon: 8 * s, RenewEvery: 5 * s},
			`RenewEvery is 5s; it must be at most half of Horizon, which is 8s`,
		},
		{
			coord.LeaseRules{},
			coord.LeaseConfig{Identity: strings.Repeat("x", 129)},
			`Identity is 129 bytes long; at most 128 are allowed`,
		},
		{
			coord.LeaseRules{},
			coord.LeaseConfig{Identity: "a\nb"},
			`Identity "a\nb" contains the unprintable character U+000A`,
		},
	} {
		_, err := ResolveLease(tt.rules, tt.cfg)
		wantInvalid(t, tt.want, err, "unalike: invalid: "+tt.want)
	}
}

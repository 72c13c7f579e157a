package config

import (
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/settings"
)

const (
	keyCoordinator = "coordinator"
	keyState       = "state"
	keyStore       = "store"
	keySegments    = "segments"
	keyFormats     = "formats"
)

// setting is a key of the file and a variable of the environment.
type setting struct {
	key string
	// set stores a value. Its error says what is allowed, without key and value.
	set func(c *Config, value string) error
	// get returns the value, fit to be shown; "" if it is not set.
	get func(c Config) string
	// url is where a URL is stored, which may contain a password and references to variables; nil: the
	// value is none.
	url func(c *Config) *string
}

// table is all settings, in the order of [settings.Keys].
var table = []setting{
	urlSetting(keyCoordinator, func(c *Config) *string { return &c.Coordinator }),
	{
		key: keyState,
		set: func(c *Config, v string) error { c.State = v; return checkState(v) },
		get: func(c Config) string { return c.State },
	},
	{
		key: "layout",
		set: func(c *Config, v string) (err error) { c.Layout, err = core.ParseLayout(v); return err },
		get: func(c Config) string {
			if c.Layout == (core.Layout{}) {
				return ""
			}
			return c.Layout.String()
		},
	},
	durationSetting("ttl", func(c *Config) *time.Duration { return &c.Lease.TTL }, false),
	durationSetting("horizon", func(c *Config) *time.Duration { return &c.Lease.Horizon }, false),
	durationSetting("renew", func(c *Config) *time.Duration { return &c.Lease.RenewEvery }, false),
	{
		key: "worker_ids",
		set: func(c *Config, v string) (err error) { c.Lease.WorkerIDs, err = parseRange(v); return err },
		get: func(c Config) string {
			if c.Lease.WorkerIDs == (coord.Range{}) {
				return ""
			}
			return c.Lease.WorkerIDs.String()
		},
	},
	{
		key: "identity",
		set: func(c *Config, v string) error {
			// Nothing but the identity is set, so nothing but it can be refused.
			_, err := coord.LeaseRules{}.Resolve(coord.LeaseConfig{Identity: v})
			c.Lease.Identity = v
			return err
		},
		get: func(c Config) string { return c.Lease.Identity },
	},
	{
		key: "rollback_tolerance",
		set: func(c *Config, v string) (err error) {
			c.RollbackTolerance, err = parseDuration(v, true)
			if c.RollbackTolerance == 0 {
				c.RollbackTolerance = -1 // how core.Config spells none; its 0 is the default
			}
			return err
		},
		get: func(c Config) string { return showDuration(max(c.RollbackTolerance, -1)) },
	},
	durationSetting("lead", func(c *Config) *time.Duration { return &c.Lead }, true),
	numberSetting("spread_below", func(c *Config) *int { return &c.SpreadBelow }, 0),
	numberSetting("stripes", func(c *Config) *int { return &c.Stripes }, 1),
	durationSetting("start_timeout", func(c *Config) *time.Duration {
		return &c.StartTimeout
	}, false),
	urlSetting(keyStore, func(c *Config) *string { return &c.Store }),
	{
		key: keySegments,
		set: func(c *Config, v string) (err error) { c.Segments, err = parseTags(v); return err },
		get: func(c Config) string { return strings.Join(c.Segments, ",") },
	},
	{
		key: keyFormats,
		set: func(c *Config, v string) (err error) { c.Formats, err = parseFormats(v); return err },
		get: func(c Config) string { return showTags(c.Formats) },
	},
	{
		key: "max_step",
		set: func(c *Config, v string) (err error) { c.MaxSteps, err = parseMaxSteps(v); return err },
		get: func(c Config) string { return showTags(c.MaxSteps) },
	},
	{
		key: "hold",
		set: func(c *Config, v string) (err error) { c.Holds, err = parseHolds(v); return err },
		get: func(c Config) string { return showTags(c.Holds) },
	},
	{
		key: "year_start",
		set: func(c *Config, v string) (err error) { c.YearStart, err = parseMonth(v); return err },
		get: func(c Config) string { return showNumber(int(c.YearStart)) },
	},
	{
		key: "zone",
		set: func(c *Config, v string) (err error) { c.Zone, err = settings.ParseZone(v); return err },
		get: func(c Config) string {
			if c.Zone == nil {
				return ""
			}
			return c.Zone.String()
		},
	},
}

// find returns the setting of a key, or false.
func find(key string) (setting, bool) {
	for _, s := range table {
		if s.key == key {
			return s, true
		}
	}
	return setting{}, false
}

func urlSetting(key string, field func(*Config) *string) setting {
	return setting{
		key: key,
		set: func(c *Config, v string) error {
			*field(c) = v
			return checkURL(v)
		},
		get: func(c Config) string { return showURL(*field(&c)) },
		url: field,
	}
}

func durationSetting(key string, field func(*Config) *time.Duration, orZero bool) setting {
	return setting{
		key: key,
		set: func(c *Config, v string) (err error) {
			*field(c), err = parseDuration(v, orZero)
			return err
		},
		get: func(c Config) string { return showDuration(*field(&c)) },
	}
}

func numberSetting(key string, field func(*Config) *int, least int) setting {
	return setting{
		key: key,
		set: func(c *Config, v string) (err error) { *field(c), err = parseNumber(v, least); return err },
		get: func(c Config) string { return showNumber(*field(&c)) },
	}
}

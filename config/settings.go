package config

import (
	"strings"
	"time"

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

// setting is a key of the file and a variable of the environment, for one [Config].
type setting struct {
	key string
	// set stores a value. Its error says what is allowed, without key and value.
	set func(value string) error
	// get returns the value, fit to be shown; "" if it is not set.
	get func() string
	// url is where a URL is stored, which may contain a password and references to variables; nil: the
	// value is none.
	url *string
}

// table returns all settings of c, in the order of [settings.Keys].
func (c *Config) table() []setting {
	return []setting{
		urlSetting(keyCoordinator, &c.Coordinator),
		newSetting(keyState, &c.StateFile, checked(checkState), show),
		newSetting("layout", &c.Layout, core.ParseLayout, show),
		newSetting("ttl", &c.Lease.TTL, durations(false), showDuration),
		newSetting("horizon", &c.Lease.Horizon, durations(false), showDuration),
		newSetting("renew", &c.Lease.RenewEvery, durations(false), showDuration),
		newSetting("worker_ids", &c.Lease.WorkerIDs, parseRange, show),
		newSetting("identity", &c.Lease.Identity, parseIdentity, show),
		newSetting("rollback_tolerance", &c.RollbackTolerance, parseTolerance, showDuration),
		newSetting("lead", &c.Lead, durations(true), showDuration),
		newSetting("spread_below", &c.SpreadBelow, numbers(0), show),
		newSetting("stripes", &c.Stripes, numbers(1), show),
		newSetting("start_timeout", &c.StartTimeout, durations(false), showDuration),
		urlSetting(keyStore, &c.Store),
		newSetting(keySegments, &c.Segments, parseTags, func(tags []string) string {
			return strings.Join(tags, ",")
		}),
		newSetting(keyFormats, &c.Formats, parseFormats, showTags),
		newSetting("max_step", &c.MaxSteps, parseMaxSteps, showTags),
		newSetting("hold", &c.Holds, parseHolds, showTags),
		newSetting("year_start", &c.YearStart, parseMonth, func(m time.Month) string {
			return show(int(m))
		}),
		newSetting("zone", &c.Zone, settings.ParseZone, show),
	}
}

// find returns the setting of a key, or false.
func (c *Config) find(key string) (setting, bool) {
	for _, s := range c.table() {
		if s.key == key {
			return s, true
		}
	}
	return setting{}, false
}

// newSetting returns the setting of a key whose value is stored in a field.
func newSetting[T any](key string, field *T, parse func(string) (T, error),
	text func(T) string,
) setting {
	return setting{
		key: key,
		set: func(v string) (err error) { *field, err = parse(v); return err },
		get: func() string { return text(*field) },
	}
}

// urlSetting is newSetting for a URL.
func urlSetting(key string, field *string) setting {
	s := newSetting(key, field, checked(checkURL), showURL)
	s.url = field
	return s
}

// checked returns a parser of texts that are stored as they are.
func checked(check func(string) error) func(string) (string, error) {
	return func(v string) (string, error) { return v, check(v) }
}

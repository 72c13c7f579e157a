package segment

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/unalike-id/unalike/internal/logs"
)

const (
	// DefaultMaxStep is the largest step that a sequence asks for by itself.
	DefaultMaxStep = 1_000_000
	// DefaultHold is how long a segment is meant to last.
	DefaultHold = 15 * time.Minute
	// DefaultStep is the step of tags that a Set makes.
	DefaultStep = 1000
	// DefaultRefillTimeout is how long a call of Next waits for a refill.
	DefaultRefillTimeout = 2 * time.Second
)

// Config are the settings of a [Sequence], or of all sequences of a [Set]. The zero Config works.
type Config struct {
	// Step is the smallest segment that is asked for. 0: the step that the store has for the tag.
	Step int64
	// MaxStep is the largest segment that is asked for. 0: a million, or the step if that is larger.
	// With 1, OnDemand is set, and the numbers of all processes rise in the order in which they are
	// taken.
	MaxStep int64
	// OnDemand has a segment taken only when a call finds no number, and never ahead, so that calls
	// wait for the store more often and less is left out. A segment whose callers have given up is
	// given back to the store, or left out if another one was taken since.
	OnDemand bool
	// Hold is how long a segment is meant to last: its size follows the rate at which numbers are
	// used. 0: 15 min.
	Hold time.Duration
	// Tags are settings of single tags. They replace MaxStep and Hold where they are not 0.
	Tags map[string]TagConfig
	// RefillTimeout bounds each call to the store, and how long Next waits. 0: 2 s.
	RefillTimeout time.Duration
	// MaxAge is how old numbers in memory may be, at least Hold. Older ones are given back to the
	// store, if nobody has taken a range since, and are left out for good otherwise, so that numbers
	// of last week do not come after new ones. Health then says that none is left, as before the
	// first. 0: they do not age.
	MaxAge time.Duration
	// YearStart is the month in which the years of [Groups] begin. 0: January.
	YearStart time.Month
	// CreatePerMinute is how many tags a [Set] makes a minute at most of those that it is asked for
	// and the store does not have, from 1 on and with the step Step, or DefaultStep. The store has to
	// be a [Creator]. The first number of such a tag takes one to two seconds. 0: none.
	CreatePerMinute int
	// OnChange is called when refills begin to fail that have succeeded before, when they succeed
	// again, and when a sequence ends. Calls come one after another, and Next does not wait for them;
	// they may not call Close. Nil: nobody is told.
	OnChange func(Health)
	// Logger receives the same. Nil: warnings go to slog.Default(), as with core.Config.
	Logger *slog.Logger
}

// TagConfig are settings of one tag, see [Config].
type TagConfig struct {
	MaxStep int64
	Hold    time.Duration
}

// of returns the settings of a tag.
func (c Config) of(tag string) Config {
	t := c.Tags[tag]
	c.MaxStep, c.Hold = cmp.Or(t.MaxStep, c.MaxStep), cmp.Or(t.Hold, c.Hold)
	c.OnDemand = c.OnDemand || c.MaxStep == 1
	c.Tags = nil
	return c
}

// resolve fills in defaults and checks the settings.
func (c Config) resolve() (Config, error) {
	for _, tag := range slices.Sorted(maps.Keys(c.Tags)) {
		if _, err := c.of(tag).resolve(); err != nil {
			return c, fmt.Errorf("%w (tag %q)", err, tag)
		}
	}
	c.Hold = cmp.Or(c.Hold, DefaultHold)
	c.RefillTimeout = cmp.Or(c.RefillTimeout, DefaultRefillTimeout)
	c.Logger = logs.Or(c.Logger)
	switch {
	case c.Step < 0 || c.Step > MaxStep:
		return c, invalid("Step is %d; 0, which is the tag's own, or a number up to %d is allowed",
			c.Step, int64(MaxStep))
	case c.MaxStep < 0 || c.MaxStep > MaxStep:
		return c, invalid("MaxStep is %d; 0, which is a million, or a number up to %d is allowed",
			c.MaxStep, int64(MaxStep))
	case c.MaxStep > 0 && c.MaxStep < c.Step:
		return c, invalid("MaxStep is %d and Step is %d; raise MaxStep or lower Step", c.MaxStep, c.Step)
	case c.Hold < time.Second:
		return c, invalid("Hold is %v; at least 1s is allowed, or 0, which is %v", c.Hold, DefaultHold)
	case c.MaxAge != 0 && c.MaxAge < c.Hold:
		return c, invalid("MaxAge is %v and Hold is %v; raise MaxAge or lower Hold; 0 is no bound",
			c.MaxAge, c.Hold)
	case c.YearStart < 0 || c.YearStart > time.December:
		return c, invalid("YearStart is %d; 0, which is January, or a month from 1 to 12 is allowed",
			int(c.YearStart))
	case c.CreatePerMinute < 0:
		return c, invalid("CreatePerMinute is %d; 0, which is none, or a number above it is allowed",
			c.CreatePerMinute)
	case c.RefillTimeout < time.Millisecond:
		return c, invalid("RefillTimeout is %v; at least 1ms is allowed, or 0, which is %v",
			c.RefillTimeout, DefaultRefillTimeout)
	}
	return c, nil
}

// bounded returns a context for one call to the store.
func (c *Config) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.RefillTimeout)
}

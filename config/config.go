package config

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/settings"
	"github.com/unalike-id/unalike/segment"
)

// Config is what a file and the environment say of a generator and its coordinator, and of segments
// and their store. It can also be filled in by hand, and what no file can say is: set Logger, Clock
// and OnChange, which are fields of [core.Config], before Open.
//
// A Config is a value, and its methods change nothing; they are safe for concurrent
// use. Printed with any verb, or logged with log/slog, it shows the settings that have
// a key, without the password. Package fmt cannot call methods on what is in an
// unexported field of another struct: there it shows the URL as it is.
type Config struct {
	// Coordinator is the URL for [coord.Open]. It may contain a password.
	Coordinator string
	// Config is the rest: layout, lease, tolerances, and the state file, which the option state of the
	// coordinator's URL can name as well.
	core.Config
	// Store is the URL for [segment.Open]. It may contain a password.
	Store string
	// Segments are the tags that OpenSegments has numbers of when it returns.
	Segments []string
	// Formats are how numbers of tags are written, by tag, see [Texts].
	Formats map[string]segment.Format
	// MaxSteps and Holds are settings of single tags, see [segment.TagConfig].
	MaxSteps map[string]int
	Holds    map[string]time.Duration
	// YearStart is the month in which the years of formats begin. 0: January.
	YearStart time.Month
	// Zone is where the days, months and years of formats begin. Nil: UTC.
	Zone *time.Location

	origins map[string]string // by key: where the value comes from
}

// Open opens the coordinator and starts a generator on it; both log to Logger. The driver
// of the URL's scheme must have been imported. It blocks as [core.New] does, until a worker ID is
// leased and its window is open; ctx bounds the start alone.
//
// Errors wrap [coord.ErrInvalid] if it is the settings that are wrong, and are
// otherwise those of coord.Open and core.New. None contains a password. After an error
// nothing is left open. Close of the generator closes the coordinator as well.
func (c Config) Open(ctx context.Context) (*core.Generator, error) {
	return c.open(ctx, func(o coord.Coordinator, cfg core.Config) (*core.Generator, error) {
		return core.New(ctx, o, cfg)
	})
}

// Start is Open without the wait: it returns at once a generator that leases its worker
// IDs in the background, as [core.Start] does, so that a service listens while its
// coordinator is away. ctx bounds what opening the coordinator takes, which is nothing
// but with an embedded etcd, and with a user and a password for etcd.
func (c Config) Start(ctx context.Context) (*core.Generator, error) {
	return c.open(ctx, core.Start)
}

// open opens the coordinator, and makes a generator on it.
func (c Config) open(ctx context.Context,
	generator func(coord.Coordinator, core.Config) (*core.Generator, error),
) (*core.Generator, error) {
	if c.Coordinator == "" {
		return nil, invalid("config: no coordinator is set; name its URL with the key coordinator of "+
			"the file, or in %s", settings.EnvName(keyCoordinator))
	}
	if c.Closer != nil {
		return nil, invalid("config: Closer is set; only core.New and core.Start accept it")
	}
	if _, err := expand(c.Coordinator, nil); err != nil {
		return nil, invalid("config: coordinator: %w", err)
	}
	rest, c, err := c.WithStateFile(c.Coordinator, c.at(keyCoordinator)+keyCoordinator)
	if err != nil {
		return nil, err
	}
	coordinator, err := coord.Open(ctx, rest, coord.OpenOptions{Clock: c.Clock, Logger: c.Logger})
	if err != nil {
		return nil, fmt.Errorf("config: %scoordinator: %w", c.at(keyCoordinator), err)
	}
	c.Closer = coordinator
	g, err := generator(coordinator, c.Config)
	if err != nil {
		return nil, c.explain(err)
	}
	return g, nil
}

// explain adds to an error about settings that do not fit together where they are.
func (c Config) explain(err error) error {
	if !errors.Is(err, core.ErrInvalidConfig) {
		return err
	}
	var from []string
	for _, s := range c.table() {
		if origin, ok := c.origins[s.key]; ok {
			from = append(from, s.key+" is set in "+origin)
		}
	}
	if len(from) == 0 {
		return invalid("config: %w", err)
	}
	return invalid("config: %w (%s)", err, strings.Join(from, ", "))
}

// at is the origin of a key as the beginning of a message.
func (c Config) at(key string) string {
	if origin, ok := c.origins[key]; ok {
		return origin + ": "
	}
	return ""
}

// String prints the settings that are not at their defaults, as key=value, without the
// password.
func (c Config) String() string {
	var b strings.Builder
	for _, s := range c.table() {
		if v := s.get(); v != "" {
			fmt.Fprintf(&b, " %s=%q", s.key, v)
		}
	}
	return strings.TrimPrefix(b.String(), " ")
}

// Format prints what String returns, for all verbs: no verb shows the password.
func (c Config) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprint(f, c.String()) // what goes wrong with f is known to its owner
}

// LogValue is the group of the settings that are not at their defaults, without the
// password.
func (c Config) LogValue() slog.Value {
	var attrs []slog.Attr
	for _, s := range c.table() {
		if v := s.get(); v != "" {
			attrs = append(attrs, slog.String(s.key, v))
		}
	}
	return slog.GroupValue(attrs...)
}

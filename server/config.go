package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/logs"
	"github.com/unalike-id/unalike/segment"
)

const (
	// DefaultMaxCount is how many IDs or numbers a request may ask for.
	DefaultMaxCount = 10_000
	// DefaultMaxWait is the longest wait that a request may ask for.
	DefaultMaxWait = 30 * time.Second
	// DefaultName is the generator that Leaf's route uses for keys that name none.
	DefaultName = "default"

	// DefaultMaxReplyBytes is how much memory the large replies under way may have together.
	DefaultMaxReplyBytes = 64 << 20
	// LeastReplyBytes bounds Config.MaxReplyBytes: any reply has room in it.
	LeastReplyBytes = 1 << 20
	// DefaultMaxWatches is how many streams a connection may have.
	DefaultMaxWatches = 10

	// AccessOff is the value of Config.AccessLog with which no request is logged.
	AccessOff = "off"
	// AccessErrors logs the requests that are answered with a status of 400 and above.
	AccessErrors = "errors"
	// AccessAll logs every request.
	AccessAll = "all"

	// MostCount bounds Config.MaxCount: the IDs of a reply are in memory before the first is sent.
	MostCount = 100_000
	// maxBody is how many bytes the body of a request may have.
	maxBody = 64 << 10
)

// names are what generators can be called.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// Numbers are those of the tags of a store: a [segment.Set], or a config.Segments.
type Numbers interface {
	Fill(ctx context.Context, tag string, dst []int64) (n int, err error)
	Stored(ctx context.Context) ([]segment.Tag, error)
	Health() []segment.Health
	Check() error
	Close(ctx context.Context) error
}

// Leaf says how the routes of Meituan's Leaf are served.
type Leaf struct {
	// Enabled turns them on. The generator "default", if there is one, must have Twitter's layout:
	// with a later epoch, IDs would be smaller than those that Leaf has issued, and repeat them
	// some years later.
	Enabled bool
	// Anyone lets callers without a token use them: Leaf's clients cannot send one.
	Anyone bool
}

// Config says what a [Server] serves. The zero Config serves nothing but health.
type Config struct {
	// Generators are served by their names, which are 1 to 64 of A-Z, a-z, 0-9, '_', '.' and '-'.
	Generators map[string]*core.Generator
	// Numbers opens the tags that are served. [Server.Run] calls it, again a second after an error,
	// and closes what it returns at the end. Nil: there are no tags.
	Numbers func(ctx context.Context) (Numbers, error)
	// Namespaces are names of the generators' namespaces, without a password, to be shown.
	Namespaces map[string]string
	// Tokens are files with what callers show. [Server.Run] reads them again every 2 s; until a file
	// can be read its token is refused. None: everybody may do everything, so that whoever mounts the
	// handler must keep strangers out.
	Tokens []TokenFile
	// Hosts are names that a Host header may have, on whichever address, beside localhost on a
	// loopback one and the address itself. Empty: every name, and none on a loopback address.
	Hosts []string
	// Leaf turns on the routes of Leaf.
	Leaf Leaf
	// MaxCount is how many IDs or numbers a request may ask for. 0: 10,000; at most 100,000.
	MaxCount int
	// MaxWait is the longest wait that a request may ask for. 0: 30 s; at most an hour.
	MaxWait time.Duration
	// MaxReplyBytes bounds the memory of the large replies that are under way, in bytes. What comes
	// above it is answered with 503. 0: 64 MiB; at least 1 MiB.
	MaxReplyBytes int64
	// MaxWatches is how many streams of Watch and of the health check a connection may have. 0: 10.
	MaxWatches int
	// AnyReady makes the server ready when one of its generators or its store is. False: all are.
	AnyReady bool
	// Metrics answers /metrics. Nil: there is no such page.
	Metrics http.Handler
	// Build is what the program was built from, for the page. A page that is open loads itself again
	// when it is another one.
	Build string
	// AdminApart says that [Server.Admin] is served on an address of its own: the pages of operators
	// are there alone.
	AdminApart bool
	// Meter counts requests. Nil: nobody does.
	Meter Meter
	// AccessLog says which requests are logged: [AccessOff], [AccessErrors] or [AccessAll]. Empty:
	// none. A line is written up to 5 ms after the response, and [Server.Drain] writes those that
	// wait.
	AccessLog string
	// Logger gets what goes wrong. It never gets a token. Nil means that warnings go to
	// slog.Default().
	Logger *slog.Logger
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", coord.ErrInvalid, fmt.Errorf(format, args...))
}

// resolve fills in the defaults and checks everything.
func (c Config) resolve() (Config, error) {
	c.MaxCount = cmp.Or(c.MaxCount, DefaultMaxCount)
	c.MaxWait = cmp.Or(c.MaxWait, DefaultMaxWait)
	c.MaxReplyBytes = cmp.Or(c.MaxReplyBytes, DefaultMaxReplyBytes)
	c.MaxWatches = cmp.Or(c.MaxWatches, DefaultMaxWatches)
	c.AccessLog = cmp.Or(c.AccessLog, AccessOff)
	c.Logger = logs.Or(c.Logger)
	switch {
	case c.MaxCount < 1 || c.MaxCount > MostCount:
		return c, invalid("MaxCount is %d; 1 to %d are allowed, 0 means %d", c.MaxCount, MostCount,
			DefaultMaxCount)
	case c.MaxReplyBytes < LeastReplyBytes:
		return c, invalid("MaxReplyBytes is %d; it is %d, which any reply has room in, or "+
			"more, 0 means %d", c.MaxReplyBytes, LeastReplyBytes, DefaultMaxReplyBytes)
	case c.MaxWatches < 1:
		return c, invalid("MaxWatches is %d; it is a positive number, 0 means %d", c.MaxWatches,
			DefaultMaxWatches)
	case c.AccessLog != AccessOff && c.AccessLog != AccessErrors && c.AccessLog != AccessAll:
		return c, invalid("AccessLog is %.40q; %s, %s and %s are known", c.AccessLog, AccessOff,
			AccessErrors, AccessAll)
	case c.MaxWait < 0 || c.MaxWait > time.Hour:
		return c, invalid("MaxWait is %v; 0, which is %v, to 1h is allowed", c.MaxWait, DefaultMaxWait)
	}
	for name, g := range c.Generators {
		if g == nil {
			return c, invalid("generator %q is nil; pass what core.New has returned, and check its error",
				name)
		}
		if err := c.CheckGenerator(name, g.Layout()); err != nil {
			return c, err
		}
	}
	c.Generators = maps.Clone(c.Generators)
	return c, nil
}

// CheckGenerator returns an error that wraps [coord.ErrInvalid] if New refuses a generator of that
// name and layout.
func (c Config) CheckGenerator(name string, l core.Layout) error {
	if !names.MatchString(name) {
		return invalid("the generator's name %.80q is not 1 to 64 of A-Z, a-z, 0-9, '_', '.' and '-', "+
			"beginning with a letter or a digit", name)
	}
	if name == DefaultName && c.Leaf.Enabled && !isTwitter(l) {
		return invalid("Leaf is enabled and the layout of generator %q is %v; Leaf's IDs have Twitter's "+
			"layout and epoch, and others would be smaller than those "+
			"and repeat them later: give it the layout twitter, or another name", name, l)
	}
	return nil
}

// isTwitter reports whether a layout is that of Leaf.
func isTwitter(l core.Layout) bool { return l.String() == core.TwitterLayout().String() }

package segment

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/unalike-id/unalike/coord"
)

// Opener makes a store from a parsed URL. The store owns whatever the opener created and frees it
// in Close.
type Opener func(ctx context.Context, u *coord.URL) (Store, error)

// schemes is the table of drivers, filled by their init functions.
var schemes = struct {
	sync.RWMutex
	openers map[string]Opener
	twice   map[string]bool
}{openers: map[string]Opener{}, twice: map[string]bool{}}

// Register makes a driver known to [Open] by its URL scheme. Drivers call it from init. If a scheme
// is registered twice, Open refuses that scheme and says so. Register is safe for concurrent use.
func Register(scheme string, o Opener) {
	schemes.Lock()
	defer schemes.Unlock()
	_, there := schemes.openers[scheme]
	schemes.openers[scheme], schemes.twice[scheme] = o, there
}

// Schemes lists the registered URL schemes in alphabetical order.
func Schemes() []string {
	schemes.RLock()
	defer schemes.RUnlock()
	return slices.Sorted(maps.Keys(schemes.openers))
}

// OpenOptions are what a URL cannot say. The zero value is that of [Open].
type OpenOptions struct {
	// Logger receives what an operator may want to know of the store. Nil: warnings go to
	// slog.Default(), as with core.Config.
	Logger *slog.Logger
}

// Open is [OpenWith] without options: the store logs nothing.
func Open(ctx context.Context, rawURL string) (Store, error) {
	return OpenWith(ctx, rawURL, OpenOptions{})
}

// OpenWith returns a store for rawURL, which looks at the server and ends with ctx at the latest. The
// driver of the URL's scheme must have been imported. Close the store after the sequences that use it.
// Errors wrap [ErrInvalidConfig] if the URL is wrong, and never contain its password.
func OpenWith(ctx context.Context, rawURL string, o OpenOptions) (Store, error) {
	u, err := coord.ParseURL(rawURL)
	if err != nil {
		return nil, invalid("%w", err)
	}
	u.Logger = o.Logger
	schemes.RLock()
	open, there := schemes.openers[u.Scheme]
	twice := schemes.twice[u.Scheme]
	schemes.RUnlock()
	switch {
	case twice:
		return nil, invalid("URL: scheme %q is registered by several drivers; import one of them", u.Scheme)
	case !there:
		known := "no driver is known"
		if all := Schemes(); len(all) > 0 {
			known = "known are " + strings.Join(all, ", ")
		}
		return nil, invalid("URL: unknown scheme %q for a store of segments; %s; a driver is made known by importing its package", u.Scheme, known)
	}
	return open(ctx, u)
}

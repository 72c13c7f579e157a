// Package drivers has what coord, segment and those who read URLs share: the tables of drivers by
// their schemes, the ports that they mean, what to ask where something else listens, and the check
// of names.
package drivers

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Table leads from schemes to the functions that open their URLs. It is safe for concurrent use.
type Table struct {
	kind string // for [Package]
	of   string // what for, in errors; empty: that is clear

	mu      sync.RWMutex
	openers map[string][]any
}

// These are the tables of coord.Open and segment.Open, which package driver fills.
var (
	Coordinators = &Table{kind: "coord"}
	Stores       = &Table{kind: "segment", of: " for a store of segments"}
)

// Register makes a driver known.
func (t *Table) Register(scheme string, open any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.openers == nil {
		t.openers = map[string][]any{}
	}
	t.openers[scheme] = append(t.openers[scheme], open)
}

// Schemes lists the schemes in alphabetical order.
func (t *Table) Schemes() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Sorted(maps.Keys(t.openers))
}

// FindStore returns the function that opens the URL of a store.
func FindStore(rawURL string) (func(context.Context, string, *slog.Logger) (io.Closer, error),
	error,
) {
	return Find[func(context.Context, string, *slog.Logger) (io.Closer, error)](Stores, rawURL)
}

// Find returns the function of type O that opens a URL.
func Find[O any](t *Table, rawURL string) (open O, err error) {
	scheme, _, err := CutScheme(rawURL)
	if err != nil {
		return open, err
	}
	t.mu.RLock()
	openers := t.openers[scheme]
	t.mu.RUnlock()
	switch len(openers) {
	case 1:
		open, _ = openers[0].(O)
		return open, nil
	case 0:
		known := "no driver is known"
		if all := t.Schemes(); len(all) > 0 {
			known = "known are " + strings.Join(all, ", ")
		}
		home := Package(t.kind, scheme)
		if home != "" {
			home = ", here " + home
		}
		return open, fmt.Errorf("unknown scheme %q%s; %s; a driver is made known by importing its "+
			"package%s", scheme, t.of, known, home)
	}
	return open, fmt.Errorf("scheme %q is registered by %d drivers; import one of them", scheme,
		len(openers))
}

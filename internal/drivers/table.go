// Package drivers has what coord, segment and those who read URLs share: the table of drivers by
// their schemes, the ports that they mean, what to ask where something else listens, and the check
// of names.
package drivers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Table leads from schemes to what opens their URLs. The zero value is ready. It is safe for
// concurrent use.
type Table[O any] struct {
	mu      sync.RWMutex
	openers map[string][]O
}

// Register makes a driver known.
func (t *Table[O]) Register(scheme string, o O) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.openers == nil {
		t.openers = map[string][]O{}
	}
	t.openers[scheme] = append(t.openers[scheme], o)
}

// Schemes lists the schemes in alphabetical order.
func (t *Table[O]) Schemes() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.Sorted(maps.Keys(t.openers))
}

// Find returns what opens a URL. Kind is whose drivers these are, for [Package]. Of says in errors
// what for; empty: that is clear.
func (t *Table[O]) Find(kind, rawURL, of string) (o O, err error) {
	scheme, _, err := CutScheme(rawURL)
	if err != nil {
		return o, err
	}
	t.mu.RLock()
	openers := t.openers[scheme]
	t.mu.RUnlock()
	switch len(openers) {
	case 1:
		return openers[0], nil
	case 0:
		known := "no driver is known"
		if all := t.Schemes(); len(all) > 0 {
			known = "known are " + strings.Join(all, ", ")
		}
		home := Package(kind, scheme)
		if home != "" {
			home = ", here " + home
		}
		return o, fmt.Errorf("unknown scheme %q%s; %s; a driver is made known by importing its package%s",
			scheme, of, known, home)
	}
	return o, fmt.Errorf("scheme %q is registered by %d drivers; import one of them", scheme,
		len(openers))
}

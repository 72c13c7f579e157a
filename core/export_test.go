package core

import (
	"sync"
	"testing"
)

// FromFreshHints takes n IDs, each as the first caller on its processor.
func FromFreshHints(t *testing.T, g *Generator, n int) []ID {
	t.Helper()
	ids := make([]ID, n)
	for i := range ids {
		g.hints = sync.Pool{New: g.hints.New}
		var err error
		if ids[i], err = g.Next(); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

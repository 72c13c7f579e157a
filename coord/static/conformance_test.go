package static_test

import (
	"crypto/rand"
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/static"
)

// harness makes participants that share a state file; empty: they have none.
func harness(state string) coordtest.Harness {
	client := func(namespace, state string) func(testing.TB, coord.Range) coord.Coordinator {
		return func(tb testing.TB, share coord.Range) coord.Coordinator {
			tb.Helper()
			c, err := static.New(share.First, static.Options{
				Namespace: namespace, State: state, Count: share.Count, AcceptFresh: true,
			})
			if err != nil {
				tb.Fatal(err)
			}
			return c
		}
	}
	other := ""
	if state != "" {
		other = state + "-other"
	}
	return coordtest.Harness{
		// The process remembers its namespaces, so every case has new ones.
		Client:         client(rand.Text(), state),
		OtherNamespace: client(rand.Text(), other),
		// A process that ends leaves its locks to the operating system, and nothing else
		// is done in its name. The tests of this package kill a real one.
		Crash: func(tb testing.TB, c coord.Coordinator, _ coord.Grant) {
			tb.Helper()
			if err := c.Close(); err != nil {
				tb.Fatal(err)
			}
		},
	}
}

func TestConformance(t *testing.T) {
	coordtest.Run(t, func(tb testing.TB) coordtest.Harness {
		return harness(filepath.Join(tb.TempDir(), "state"))
	})
}

func TestConformanceWithoutStateFile(t *testing.T) {
	coordtest.Run(t, func(testing.TB) coordtest.Harness { return harness("") })
}

package static_test

import (
	"crypto/rand"
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/coord/static"
)

func TestConformance(t *testing.T) {
	coordtest.Run(t, func(tb testing.TB) coordtest.Harness {
		tb.Helper()
		dir := tb.TempDir()
		client := func(state string) func(testing.TB, coord.Range) coord.Coordinator {
			ns := rand.Text() // the process remembers its namespaces, so every case has new ones
			return func(tb testing.TB, share coord.Range) coord.Coordinator {
				tb.Helper()
				c, err := static.New(share.First, static.Options{
					Namespace: ns, State: filepath.Join(dir, state), Count: share.Count, AcceptFresh: true,
				})
				if err != nil {
					tb.Fatal(err)
				}
				return c
			}
		}
		return coordtest.Harness{
			Client:         client("state"),
			OtherNamespace: client("other"),
			// A process that ends leaves its locks to the operating system, and nothing else
			// is done in its name. The tests of this package kill a real one.
			Crash: func(tb testing.TB, c coord.Coordinator, _ coord.Grant) {
				tb.Helper()
				if err := c.Close(); err != nil {
					tb.Fatal(err)
				}
			},
		}
	})
}

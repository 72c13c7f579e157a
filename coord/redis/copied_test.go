package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestCopyIsTold: a process and its copy have one grant. Both renew it, and one of them is
// told that it has lost it. The other one goes on.
func TestCopyIsTold(t *testing.T) {
	server := redistest.Start(t, redistest.Options{})
	for name, end := range map[string]func(c coord.Coordinator, g coord.Grant) error{
		"renew": func(c coord.Coordinator, g coord.Grant) error {
			_, err := c.Renew(t.Context(), g, g.NotAfter+10)
			return err
		},
		"release": func(c coord.Coordinator, g coord.Grant) error { return c.Release(t.Context(), g, g.NotAfter-1) },
	} {
		t.Run(name, func(t *testing.T) {
			ns := newNamespace(t, server.Client(t), layout)
			p, q := shortCoordinator(t, server.Client(t), ns), shortCoordinator(t, server.Client(t), ns)
			told := acquireIn(t, p, time.Second)
			stays := told
			stays.Handle = nil
			renew := func() {
				t.Helper()
				var err error
				if stays, err = q.Renew(t.Context(), stays, stays.NotAfter+1); err != nil {
					t.Fatal(err)
				}
			}
			renew()
			if err := end(p, told); !errors.Is(err, coord.ErrLeaseLost) {
				t.Fatalf("the copy of a holder has extended its window, and %s is %v", name, err)
			}
			for range 3 {
				renew()
			}
		})
	}
}

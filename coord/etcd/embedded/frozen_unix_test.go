//go:build unix

package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestFrozen: a process that is stopped keeps the folder. Nobody can take it over; who
// joins is told which process it is, and all goes on when it does.
func TestFrozen(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	host := startChild(t, dir, "stay")
	host.Line(t)
	c := openFolder(t, dir, "n")
	g, other := mustAcquire(t, c, request(1)), mustAcquire(t, c, request(2))
	host.Freeze(t)
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	_, err := New(short(), dir, "n", Options{})
	want := fmt.Sprintf("its etcd belongs to process %d, which does not answer; end that process",
		host.PID())
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v; want %q in it", err, want)
	}
	want = fmt.Sprintf("embed: folder %s, whose etcd runs in process %d: ", dir, host.PID())
	_, renew := c.Renew(short(), g, g.NotAfter+1000)
	_, resume := c.Resume(short(), other, rand.Text(), other.NotAfter+1000)
	for _, err := range []error{renew, resume} {
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error is %v; want %q", err, want)
		}
	}
	host.Thaw(t)
	if _, err := c.Renew(within(t), g, g.NotAfter+1000); err != nil {
		t.Errorf("after it goes on: %v", err)
	}
}

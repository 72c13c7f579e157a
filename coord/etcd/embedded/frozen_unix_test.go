//go:build unix

package embedded

import (
	"context"
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
	host.line(t)
	c := openFolder(t, dir, "n", nil)
	g := mustAcquire(t, c, request(1))
	host.Freeze(t)
	short := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	_, err := New(short(), dir, "n", nil)
	want := fmt.Sprintf("its etcd belongs to process %d, which does not answer; end that process", host.PID())
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v; want %q in it", err, want)
	}
	_, err = c.Renew(short(), g, g.NotAfter+1000)
	want = fmt.Sprintf("embed: folder %s, whose etcd runs in process %d: ", dir, host.PID())
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error is %v; want %q", err, want)
	}
	host.Thaw(t)
	if _, err := c.Renew(within(t), g, g.NotAfter+1000); err != nil {
		t.Errorf("after it goes on: %v", err)
	}
}

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

	"github.com/unalike-id/unalike/coord"
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

// TestCallsFollow: a call that has been sent, and whose server dies before it answers, is
// made again with the next one.
func TestCallsFollow(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	var g coord.Grant
	for _, tt := range []struct {
		name string
		call func(c *Coordinator) error
	}{
		{"Acquire", func(c *Coordinator) (err error) {
			g, err = c.Acquire(within(t), request(1))
			return err
		}},
		{"Renew", func(c *Coordinator) (err error) {
			g, err = c.Renew(within(t), g, g.NotAfter+1000)
			return err
		}},
		{"Resume", func(c *Coordinator) (err error) {
			g, err = c.Resume(within(t), g, rand.Text(), g.NotAfter+1000)
			return err
		}},
		{"Release", func(c *Coordinator) error { return c.Release(within(t), g, g.NotBefore) }},
	} {
		host := startChild(t, dir, "stay")
		where := host.Line(t)
		c := openFolder(t, dir, "n")
		if address(c) != where {
			t.Fatal("it did not join")
		}
		c.changes.timeout = callTime // a slow machine starts a server slowly
		host.Freeze(t)
		done := make(chan error, 1)
		go func() { done <- tt.call(c) }()
		sent := time.NewTimer(50 * time.Millisecond) // if it was not, that is right as well
		<-sent.C
		host.Kill()
		if err := <-done; err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

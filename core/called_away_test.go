package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
)

// TestLeaderOfAWaitIsCalledAway ends the context of the call that waits for the clock
// on behalf of another one, which must wait for itself from then on.
func TestLeaderOfAWaitIsCalledAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.NewManual(coretest.Start())
		g := coretest.NewWith(t, core.Config{Layout: narrow(), Clock: c})
		spend(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		leader, other := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := g.NextContext(ctx)
			leader <- err
		}()
		synctest.Wait() // it waits, and leads
		go func() {
			_, err := g.Next()
			other <- err
		}()
		synctest.Wait() // it has joined
		cancel()
		if err := <-leader; !errors.Is(err, context.Canceled) {
			t.Errorf("the call with a context: %v", err)
		}
		synctest.Wait()
		c.Advance(time.Millisecond)
		select {
		case err := <-other:
			if err != nil {
				t.Errorf("the other call: %v", err)
			}
		case <-time.After(time.Second):
			t.Error("the other call hangs though the tick has come")
		}
	})
}

package core_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/core"
)

// TestOnCall: every call to the coordinator is told once, with its worker ID, its time and its
// error.
func TestOnCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, refused := newFake(4), errors.New("refused")
		var told []coord.Call
		check := func(what string, want ...coord.Call) {
			t.Helper()
			synctest.Wait()
			if !slices.EqualFunc(told, want, func(a, b coord.Call) bool {
				return a.Op == b.Op && a.WorkerID == b.WorkerID && errors.Is(a.Err, b.Err) && a.Took == b.Took
			}) {
				t.Errorf("%s: told were %+v, want %+v", what, told, want)
			}
			told = nil
		}
		f.Fail(coordtest.Acquire, refused, 1)
		g := lease(t, f, func(c *core.Config) {
			c.OnCall = func(call coord.Call) {
				told = append(told,
					call)
			}
		})
		check("start", coord.Call{Op: "acquire", WorkerID: -1, Err: refused},
			coord.Call{Op: "acquire"})
		var added []string
		g.OnCall(func(call coord.Call) { added = append(added, call.Op) })
		const slow = 100 * time.Millisecond
		f.DelayReplies(coordtest.Renew, slow, 1)
		letSettled(leaseEvery + slow)
		check("renewal", coord.Call{Op: "renew", Took: slow})
		if err := g.Close(t.Context()); err != nil {
			t.Error(err)
		}
		check("close", coord.Call{Op: "release"})
		want := []string{
			"acquire", "acquire", "renew", "release",
		}
		if !slices.Equal(added, want) {
			t.Errorf("a function that was added after the start was told %v, want %v", added, want)
		}
	})
}

package server

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// TestLimited_RefusalsCostNothing: requests that are refused together leave the limit of their
// token as it is.
func TestLimited_RefusalsCostNothing(t *testing.T) {
	limit := rate.NewLimiter(1, 100)
	limit.AllowN(time.Now(), 100)
	r := &request{caller: caller{limit: limit}}
	var running sync.WaitGroup
	for range 64 {
		running.Go(func() {
			for range 500 {
				if err := limited(r, 100); err == nil {
					t.Error("a request was not refused")
				}
			}
		})
	}
	running.Wait()
	if left := limit.Tokens(); left < 0 {
		t.Errorf("there are %v IDs left; want at least 0", left)
	}
}

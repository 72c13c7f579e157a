package kubernetes

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOldCache: etcd is put back to an older state below API servers that go on. Whoever needs
// their lists is told to start them again, rather than try without a word.
func TestOldCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeAPI()
		c := f.open(t)
		f.grantOf(t, c, 0, 1)
		backup := maps.Clone(f.leases)
		f.rewrite(t)
		f.cache, f.leases = f.leases, backup
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := c.Quarantine(ctx, f.clock.Time().Add(time.Minute))
		if err == nil || !strings.Contains(err.Error(), "start all API servers again") {
			t.Errorf("%v; want what to do", err)
		}
		f.cache = nil
		if _, err := c.Quarantine(t.Context(), f.clock.Time().Add(time.Minute)); err != nil {
			t.Errorf("after the API servers were started again: %v", err)
		}
	})
}

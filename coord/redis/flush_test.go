package redis_test

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestFlush: everything is lost under running holders of different horizons. Each
// goes to the end of its window and not further; nobody issues an ID below the floor
// who had not been granted it before; then all go on.
func TestFlush(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, *redistest.Server, string){
		"FLUSHALL": func(t *testing.T, s *redistest.Server, _ string) { t.Helper(); s.Do(t, "FLUSHALL") },
		"DEL":      func(t *testing.T, s *redistest.Server, ns string) { t.Helper(); s.Do(t, "DEL", "{"+ns+"}:slots") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Options{})
			ns := newNamespace(t, server.Client(t), layout)
			flush(t, server, ns, shortHorizon, func(t *testing.T) { t.Helper(); lose(t, server, ns) })
		})
	}
}

// TestFlushInRealTime is the same with MaxHorizon as it is.
func TestFlushInRealTime(t *testing.T) {
	fulltest.Long(t, "half a minute of real time; TestFlush is the same at 3 s")
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	ns := newNamespace(t, server.Client(t), layout)
	flush(t, server, ns, redis.MaxHorizon, func(t *testing.T) { t.Helper(); server.Do(t, "FLUSHALL") })
}

// flush lets holders of different horizons, of which the longest is most, lose their
// coordinator's memory, which takes a quarantine of most and the skew bound.
func flush(t *testing.T, server *redistest.Server, ns string, most time.Duration, lose func(*testing.T)) {
	t.Helper()
	coordinator := func() *redis.Coordinator {
		c := newCoordinator(t, server.Client(t), ns, &redis.Options{})
		c.SetMaxHorizon(most)
		return c
	}
	var streams []*stream
	horizons := []time.Duration{most / 4, most / 2, most}
	for _, h := range horizons {
		g := generate(t, coordinator(), coord.LeaseConfig{TTL: most, Horizon: h, RenewEvery: most / 8})
		streams = append(streams, run(g))
	}
	for _, s := range streams {
		s.more(t, 100)
	}
	began, before := time.Now(), tickNow()
	lose(t)
	after := tickNow()
	// A newcomer notices the loss, if no holder has.
	late := generate(t, coordinator(), lease())
	if waited := time.Since(began); waited < most {
		t.Errorf("a newcomer was served %v after the loss; it must wait for %v", waited, most)
	}
	streams = append(streams, run(late))
	for i, s := range streams {
		s.more(t, 100)
		s.stop(t, 200)
		t.Logf("generator %d was without an ID for %v; first error: %v", i, s.pause, s.err)
		if s.err != nil && !errors.Is(s.err, core.ErrWindowEnded) && !errors.Is(s.err, core.ErrWindowNotOpen) {
			t.Errorf("the error in the quarantine: %v", s.err)
		}
	}
	for i, h := range horizons {
		for _, id := range streams[i].ids {
			// Its window ended here at the latest, and the floor was not here yet.
			if tick := tickOf(id); tick > after+h.Milliseconds() && tick <= before+most.Milliseconds() {
				t.Fatalf("generator %d issued an ID of tick %d, beyond its window and below the floor", i, tick)
			}
		}
	}
	wantUnique(t, streams...)
}

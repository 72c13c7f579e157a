package core

import (
	"context"
	"testing"
	"testing/synctest"
)

// A listener is told of what differs from what it was told last, once: also if that changes
// again at any reading of the clock by which the observer looks at it.
func TestOnChangeTellsNothingTwice(t *testing.T) {
	for name, meanwhile := range map[string]func(*Generator){
		"closed": func(g *Generator) { _ = g.Close(context.Background()) },
		"served again": func(g *Generator) {
			g.stripes[0].Extend(2e6)
			g.changed.broadcast()
		},
	} {
		for reading := range 6 {
			synctest.Test(t, func(t *testing.T) {
				var told []Health
				g, h := hookedGenerator(t, Config{OnChange: func(h Health) { told = append(told, h) }})
				g.observer.start()
				synctest.Wait()
				left := reading
				var count func()
				count = func() {
					if left--; left >= 0 || !g.stripes[0].mu.TryLock() { // Health reads it under the lock, too
						h.before = count
						return
					}
					g.stripes[0].mu.Unlock()
					meanwhile(g)
				}
				h.before, h.micro = count, g.scale.Micro(1e6+1)
				g.changed.broadcast()
				synctest.Wait()
				if err := g.Close(t.Context()); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				was := Health{Healthy: true}
				for _, h := range told {
					if h.Healthy == was.Healthy && h.Closed == was.Closed {
						t.Errorf("%s at reading %d: told again: %+v", name, reading, h)
					}
					was = h
				}
				if !was.Closed {
					t.Errorf("%s at reading %d: the last of %d calls was told %+v", name, reading, len(told), was)
				}
			})
		}
	}
}

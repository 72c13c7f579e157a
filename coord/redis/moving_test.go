package redis_test

import (
	"crypto/rand"
	"strings"
	"testing"

	moving "github.com/unalike-id/unalike/coord/follow"
	"github.com/unalike-id/unalike/coord/redis"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

// TestMoveAfterRestart: a server that was restarted may have lost windows, which nobody has
// noticed when another namespace follows. Looking how far it has come changes nothing;
// closing it finds that out, and the new namespace begins above what may be lost.
func TestMoveAfterRestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Options{})
	client := server.Client(t)
	old := newNamespace(t, client, layout)
	c := newCoordinator(t, client, old, nil)
	g := mustAcquire(t, c, request(1))
	if err := c.Release(within(t), g, g.NotBefore+1); err != nil {
		t.Fatal(err)
	}
	server.Do(t, "SAVE")
	server.Kill()
	server.Restart(t)

	prev, next := newCoordinator(t, client, old, nil), newCoordinator(t, client, rand.Text(), nil)
	end, err := moving.EndOf(within(t), prev, space())
	if want := scale().Micro(g.NotBefore + 2); err != nil || end.Until.UnixMicro() != want {
		t.Errorf("EndOf: %+v, %v; want the end of tick %d", end, err, g.NotBefore+1)
	}
	if info := server.Do(t, "INFO", "persistence"); !strings.Contains(info, "rdb_changes_since_last_save:0\r") {
		t.Errorf("EndOf has written: %s", info)
	}
	earliest := tickNow() + redis.MaxHorizon.Milliseconds()
	for range 2 {
		floor, err := moving.Namespace(within(t), next, prev, space())
		if got := scale().Tick(floor.UnixMicro()); err != nil || got < earliest {
			t.Errorf("the floor of the new namespace is %d, %v; windows that are lost reach to %d", got, err, earliest)
		}
	}
}

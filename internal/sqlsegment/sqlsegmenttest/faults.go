package sqlsegmenttest

import (
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// Faults does to a server what happens to one. It is another process afterwards.
func Faults(t *testing.T, d *Database, server Server) {
	t.Run("round trips", func(t *testing.T) { RoundTrips(t, d) })
	t.Run("advance race", func(t *testing.T) { AdvanceRace(t, d) })
	t.Run("all tags", func(t *testing.T) { AllTags(t, d) })
	t.Run("silent", func(t *testing.T) { Silent(t, d) })
	t.Run("lost replies", func(t *testing.T) { LostReplies(t, d) })
	t.Run("set back", func(t *testing.T) { SetBack(t, d) })
	t.Run("frozen", func(t *testing.T) { Frozen(t, d, server) })
	t.Run("frozen look", func(t *testing.T) { FrozenLook(t, d, server) })
	if len(d.Race) > 0 {
		t.Run("races", func(t *testing.T) { Races(t, d) })
	}
	t.Run("killed", func(t *testing.T) { Killed(t, d, server, fulltest.Rounds(2, 50)) })
}

// Crowds has many tags, and many callers. Insert makes the tags n0 to n999, each with a step of 2.
func Crowds(t *testing.T, d *Database, insert string) {
	t.Run("one tag", func(t *testing.T) { OneTag(t, d) })
	t.Run("thousand tags", func(t *testing.T) { ManyTags(t, d, insert) })
}

package storms

import (
	"context"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/stage"
)

// quarantineTime is how long an operator may take to declare a quarantine when the servers serve again.
const quarantineTime = 20 * time.Second

// comeBack is how long after one process the next one reaches the servers again.
var comeBack = span{0, 4 * time.Second}

// rollBack copies the data of all servers, or brings that copy back: as it is where a network is divided, and that side
// wins in the end that was left behind. One process is on that side, and reaches nobody meanwhile. In the end an
// operator does as the documentation says: no generator reaches the servers until a quarantine is declared that is as
// long as the longest horizon. Then they come back one by one.
func (st *storm) rollBack(e Event) {
	st.Helper()
	if !e.Ends {
		st.leaveBehind()
		st.snapshot = st.Backend.Snapshot(st)
		return
	}
	st.Scenario.Recovery = SettleTime + rollbackTime
	for _, l := range st.lines {
		l.gate.Refuse()
	}
	if e.What == rolledBelow {
		st.restoreBelow()
	} else {
		st.Backend.Restore(st, st.snapshot)
	}
	st.declare()
	for _, p := range st.rng.Perm(len(st.lines)) {
		st.Logf("process %d comes back", p)
		st.lines[p].gate.Heal()
		st.Sleep(comeBack.any(st.rng))
	}
}

// staleTime is how long an operator tries to declare a quarantine at a server that goes on above what was restored: one that
// shows what was before does not let it be declared.
const staleTime = 5 * time.Second

// restoreBelow has an operator forget to start the server again that is above what was restored, until no quarantine can be
// declared there.
func (st *storm) restoreBelow() {
	st.Helper()
	b := st.Backend.(backend.Layered)
	b.RestoreBelow(st, st.snapshot)
	ctx, cancel := context.WithTimeout(st.Context(), staleTime)
	defer cancel()
	if err := raise(ctx, st.Stage, st.longest+stage.SkewBound); err != nil {
		st.Logf("no quarantine can be declared, and the server is started again: %v", err)
		b.Front().Kill()
		st.Backend.Restart(st)
	}
}

// flushBehind deletes all data while a process is cut off, which learns of that later.
func (st *storm) flushBehind(e Event) {
	st.Helper()
	if e.Ends {
		st.behind.gate.Heal()
		return
	}
	st.leaveBehind()
	st.Backend.(backend.Flusher).Flush(st)
}

// leaveBehind cuts off a process, whatever else happens on its line.
func (st *storm) leaveBehind() {
	p := st.rng.IntN(len(st.lines))
	st.Logf("process %d is left behind", p)
	st.behind = st.lines[p]
	st.behind.gate.LoseAll()
}

// declare has an operator declare a quarantine, which has to succeed.
func (st *storm) declare() {
	st.Helper()
	ctx, cancel := context.WithTimeout(st.Context(), quarantineTime)
	defer cancel()
	err := raise(ctx, st.Stage, st.longest+stage.SkewBound)
	for err != nil && ctx.Err() == nil {
		err = raise(ctx, st.Stage, st.longest+stage.SkewBound)
	}
	if err != nil {
		st.Fatalf("no quarantine could be declared within %v: %v", quarantineTime, err)
	}
}

// raise has an operator raise the floor of the namespace to a time from now.
func raise(ctx context.Context, s *stage.Stage, d time.Duration) error {
	c, err := coord.Open(ctx, s.Backend.URL(namespace), coord.OpenOptions{})
	if err != nil {
		return err
	}
	defer c.Close() // its work is done
	if admin, can := c.(coord.Admin); can {
		_, err = admin.Quarantine(ctx, time.Now().Add(d))
	}
	return err
}

package storms

import (
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/worker"
)

// happen has an event happen.
func (st *storm) happen(e Event) {
	st.Helper()
	var p int
	switch target, number, _ := strings.Cut(e.Target, " "); target {
	case "process":
		p = index(number)
		st.toProcess(p, e)
	case "clock":
		p = index(number)
		st.clocks[p].Set(0)
		if !e.Ends {
			st.clocks[p].Set(e.Amount)
		}
	case "network":
		st.toNetwork(e)
	case "servers":
		st.toServers(e)
	case "operator":
		if !e.Ends {
			operate(st.Stage, e)
		}
	}
}

// index reads the number in a target's name, which this package has written.
func index(number string) (p int) {
	_, _ = fmt.Sscan(number, &p)
	return p
}

// toProcess ends or freezes a process, or brings it back.
func (st *storm) toProcess(p int, e Event) {
	st.Helper()
	w := st.workers[p]
	switch {
	case e.Ends && e.What == frozen:
		w.Thaw(st)
	case e.Ends:
		st.start(p)
	case e.What == frozen:
		w.Freeze(st)
	case e.What == killed:
		w.Kill()
	default:
		st.end(w)
	}
}

// end ends a process in good order. One that does not end, because it cannot reach the coordinator, is killed.
func (st *storm) end(w *worker.Worker) {
	st.Helper()
	if err := w.End(endTime); err != nil {
		st.Logf("process %d: %v", w.PID(), err)
	}
}

// toNetwork has the proxy misbehave, or heals it.
func (st *storm) toNetwork(e Event) {
	st.Helper()
	p := st.Backend.Proxy()
	if e.Ends {
		p.Heal()
		p.DelayRequests(0)
		p.DelayReplies(0)
		if st.held != nil {
			if err := st.held.Deliver(); err != nil {
				st.Logf("%s: %v", e.What, err)
			}
			st.held = nil
		}
		return
	}
	switch e.What {
	case slowRequests:
		p.DelayRequests(e.Amount)
	case slowReplies:
		p.DelayReplies(e.Amount)
	case lostRequests:
		p.LoseRequests()
	case lostReplies:
		p.LoseReplies()
	case lostAll:
		p.LoseAll()
	case refused:
		p.Refuse()
	case reset:
		p.Reset()
	case lostAcks:
		p.LoseAcks(2, st.Backend.IsCall)
	case heldRequest:
		st.held = p.Hold(st.Backend.IsCall)
	case copied:
		st.held = p.Copy(st.Backend.IsCall)
	}
}

// toServers has something happen to the servers, or brings them back.
func (st *storm) toServers(e Event) {
	st.Helper()
	b := st.Backend
	switch {
	case e.Ends && e.What == frozen:
		b.Thaw(st)
	case e.Ends && e.What == frozenLeader:
		st.stopped.Thaw(st)
	case e.Ends:
		b.Restart(st)
	case e.What == frozen:
		b.Freeze(st)
	case e.What == killed:
		b.Kill(st)
	case e.What == terminated:
		b.Stop(st)
	case e.What == rolling:
		backend.Rolling(st, b, nil)
	default:
		st.toSome(e.What)
	}
}

// toSome does what only some back ends can do.
func (st *storm) toSome(what string) {
	st.Helper()
	b := st.Backend
	switch what {
	case leader:
		b.(backend.Elected).Leader(st).Kill()
	case frozenLeader:
		st.stopped = b.(backend.Elected).Leader(st)
		st.stopped.Freeze(st)
	case sessions:
		b.(backend.SessionEnder).EndSessions(st)
	case flush:
		b.(backend.Flusher).Flush(st)
	case failover:
		b.(backend.Replicated).Failover(st)
	case switchOver:
		b.(backend.Replicated).SwitchOver(st)
	}
}

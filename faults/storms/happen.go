package storms

import (
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/faults/backend"
	"github.com/unalike-id/unalike/faults/proxy"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
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
		st.held = st.toNetwork(st.Backend.Proxy(), st.held, e)
	case "line":
		p = index(number)
		st.toLine(st.lines[p], e)
	case "late":
		p = index(number)
		st.toLate(st.lines[p], e)
	case "requests":
		st.toRequests(e)
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
		st.thaw(p)
	case e.Ends:
		st.start(p)
	case e.What == frozen:
		w.Freeze(st)
		st.frozen[p] = true
	case e.What == killed:
		w.Kill()
	default:
		st.end(p)
	}
}

// thaw lets a process go on that is frozen.
func (st *storm) thaw(p int) {
	st.Helper()
	if st.frozen[p] {
		st.workers[p].Thaw(st)
	}
	st.frozen[p] = false
}

// end has a process end in good order, and does not wait until it has. One that does not end, because it cannot reach
// the coordinator, is killed.
func (st *storm) end(p int) {
	w, ended := st.workers[p], make(chan struct{})
	st.ending[p] = ended
	go func() {
		defer close(ended)
		if err := w.End(endTime); err != nil {
			st.Logf("process %d: %v", w.PID(), err)
		}
	}()
	st.Cleanup(func() { <-ended })
}

// toNetwork has a proxy misbehave, or heals it. Held is a request that it holds, if it does; it returns the one that
// it holds then.
func (st *storm) toNetwork(p *proxy.Proxy, held *proxytest.Held, e Event) *proxytest.Held {
	if e.Ends {
		p.Heal()
		if held != nil {
			if err := held.Deliver(); err != nil {
				st.Logf("%s: %v", e.What, err)
			}
		}
		return nil
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
		return p.Hold(st.Backend.IsCall)
	case copied:
		return p.Copy(st.Backend.IsCall)
	}
	return nil
}

// toServers has something happen to the servers, or brings them back.
func (st *storm) toServers(e Event) {
	st.Helper()
	b := st.Backend
	switch {
	case e.Ends && e.What == frozen:
		b.Thaw(st)
	case e.Ends && (e.What == frozenLeader || e.What == frozenStore):
		st.stopped.Thaw(st)
	case e.Ends && e.What == cutBetween:
		b.(backend.Layered).Between().Heal()
	case e.What == rollback || e.What == rolledBelow:
		st.rollBack(e)
	case e.What == flushBehind:
		st.flushBehind(e)
	case e.Ends:
		if _, ok := b.(backend.Hosted); ok { // one of the processes may have the server, and this waits for it
			for p := range st.workers {
				st.thaw(p)
			}
		}
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
	case front:
		b.(backend.Layered).Front().Kill()
	case store:
		b.(backend.Layered).Store().Kill()
	case frozenStore:
		st.stopped = b.(backend.Layered).Store()
		st.stopped.Freeze(st)
	case cutBetween:
		b.(backend.Layered).Between().LoseAll()
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

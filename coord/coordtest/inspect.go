package coordtest

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Call is an entry of the log of a [Fake].
type Call struct {
	Op Op
	At time.Time // when it was made

	Request coord.Request // of Acquire
	Grant   coord.Grant   // that was passed to Renew, Release or Resume
	Token   string        // of Resume
	Until   int64         // of Renew and Resume
	Last    int64         // of Release

	Result coord.Grant // what the back end has granted; zero: nothing
}

// Calls returns the log: all calls so far, in the order in which they were made.
func (f *Fake) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Call, len(f.calls))
	for i, c := range f.calls {
		out[i] = *c
	}
	return out
}

// CallsOf returns the calls of op.
func (f *Fake) CallsOf(op Op) []Call {
	return slices.DeleteFunc(f.Calls(), func(c Call) bool { return c.Op != op })
}

// Count returns how many calls of op were made, whatever became of them.
func (f *Fake) Count(op Op) int { return len(f.CallsOf(op)) }

// Slot returns what is stored for a worker ID: the last piece, and the token of its holder. Without
// a token nobody holds it, and with generation 0 nobody ever did. The handle is nil.
func (f *Fake) Slot(worker int) coord.Grant {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.slot(worker).Grant
}

// Holders returns the worker IDs whose lease is not over, in ascending order.
func (f *Fake) Holders() []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []int
	for id, sl := range f.slots {
		if sl.held() {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Floor returns the floor of the namespace, in ticks.
func (f *Fake) Floor() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.floor
}

// RaiseFloor raises the floor of the namespace to tick, as a driver does that
// mistrusts its back end's memory. It is never lowered.
func (f *Fake) RaiseFloor(tick int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.floor = max(f.floor, tick)
}

// Expire ends the lease of a worker ID now. Its slot stays as it is until somebody
// acquires it, so its holder can put the lease back by a renewal. The holder gets
// the hint of [coord.Notifier].
func (f *Fake) Expire(worker int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sl := f.slot(worker)
	sl.leaseEnd = min(sl.leaseEnd, time.Now().UnixMicro())
	f.notifyLost(sl.Token)
	f.notifyFreed()
}

// Steal gives a worker ID to somebody else, by the rules, as if its lease had
// expired, and returns the thief's grant. The thief keeps it until [Fake.Expire]
// or until its grant is released. The old holder gets the hint of
// [coord.Notifier].
func (f *Fake) Steal(worker int) coord.Grant {
	f.mu.Lock()
	defer f.mu.Unlock()
	sl := f.slot(worker)
	f.notifyLost(sl.Token)
	req := sl.req
	if req.Scale.Unit > 0 {
		ahead := req.Until - req.Now
		req.Now = req.Scale.Tick(time.Now().UnixMicro())
		req.Until = req.Now + ahead
	}
	req.Token = fmt.Sprintf("thief-%d-%d", worker, sl.Generation+1)
	req.Identity, req.Holder = "", "thief"
	g := f.give(worker, req)
	sl.leaseEnd = math.MaxInt64
	return g
}

// notifyFreed ends the calls of AwaitFree. The lock is held.
func (f *Fake) notifyFreed() {
	close(f.freed)
	f.freed = make(chan struct{})
}

// notifyLost closes the channel of Lost for token. The lock is held.
func (f *Fake) notifyLost(token string) {
	if ch := f.watchers[token]; ch != nil {
		close(ch)
		delete(f.watchers, token)
	}
}

package keeper

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// ErrBehind is why a window stays over although the coordinator answers.
var ErrBehind = errors.New("the coordinator renews, but the window that it gives is over by this " +
	"machine's clock: compare the two clocks")

// ErrLate is why a window stays over although the coordinator answers, too late.
var ErrLate = errors.New("the coordinator renews, but when its reply comes the window that was " +
	"asked for is over by this machine's clock: it takes longer than the horizon, or the clock " +
	"stepped forward meanwhile")

// farSkew is how far clocks may differ before the log says that one must be wrong.
const farSkew = time.Minute

// kinds are the causes of an outage that the log tells apart, the most telling
// first. All others are one kind: a back end that is away refuses, hangs up and
// does not answer by turns.
var kinds = []error{
	coord.ErrQuarantined, coord.ErrNoWorkerID, coord.ErrLayoutMismatch, coord.ErrClockSkew,
	coord.ErrInvalid, coord.ErrClosed, coord.ErrLeaseLost, ErrBehind, ErrLate,
}

// kindOf returns which of the kinds err is; -1: another.
func kindOf(err error) int {
	return slices.IndexFunc(kinds, func(kind error) bool { return errors.Is(err, kind) })
}

// outage is what keeps the window from growing, and what the log has of it. The
// log gets one line for each change, and none in between.
type outage struct {
	cause  error // of the last attempt; nil: it succeeded, or none was made
	logged bool  // the kind of the cause is in the log
	kind   int   // the kind that is
	silent bool  // the log says that there are no IDs
	since  int64 // if silent: the first tick without
}

// settled notes that an attempt succeeded, and tells whether the log has a failure.
func (o *outage) settled() (failed bool) {
	failed = o.logged
	o.cause, o.logged = nil, false
	return failed
}

// fails notes why an attempt failed, and tells whether that is news.
func (o *outage) fails(err error) bool {
	kind := kindOf(err)
	news := !o.logged || kind != o.kind
	o.cause, o.logged, o.kind = err, true, kind
	return news
}

// stops notes that there are no IDs from a tick on, and tells whether that is news.
func (o *outage) stops(tick int64) bool {
	if o.silent {
		return false
	}
	o.silent, o.since = true, tick
	return true
}

// notAcquired logs why there is no worker ID.
func (k *Keeper) notAcquired(err error) {
	if k.outage.fails(err) {
		k.told = true
		k.log.Warn("worker ID not acquired, trying again", append(causeOf(err), k.lasting())...)
	}
}

// notRenewed logs why the window did not grow. If it is over by now, that is the
// greater news, and comes with the cause.
func (k *Keeper) notRenewed(err error) {
	news := k.outage.fails(err)
	switch worker := slog.Int("worker_id", k.grant.WorkerID); {
	case k.tellEnd() || !news:
	case k.outage.silent:
		k.log.Warn("still no IDs, for another reason", append(causeOf(err), worker)...)
	default:
		k.log.Warn("renewal failed, going on inside the window", append(causeOf(err), worker)...)
	}
}

// tellEnd logs that the window is over and nothing follows it, and tells whether
// that was news. A window that is over before anybody has tried to renew it is
// none: the machine was suspended, or its clock stepped, and the renewal that is
// due will show what comes of it.
func (k *Keeper) tellEnd() bool {
	now, end := k.now(), k.pieces[0].NotAfter+1
	if f := k.file; f != nil && f.err != nil {
		if stop := k.usable(k.pieces[0]).NotAfter + 1; stop <= now && now < end && k.outage.stops(stop) {
			k.log.Error("no IDs until the state file can be written", "worker_id", k.grant.WorkerID, "ended",
				k.timeOf(stop), "error", f.err)
			return true
		}
	}
	if k.outage.cause == nil || !k.ended(now) || !k.outage.stops(end) {
		return false
	}
	place := []any{"worker_id", k.grant.WorkerID, "ended", k.timeOf(end)}
	if now > k.cfg.Request.LastTick {
		k.log.Error("the time bits of the layout are spent: no IDs any more", place...)
		return true
	}
	k.log.Error("issue window ended: no IDs until the coordinator answers",
		append(place, causeOf(k.outage.cause)...)...)
	return true
}

// tellService logs that IDs have stopped, or that they can be issued again.
func (k *Keeper) tellService() {
	if !k.outage.silent {
		k.tellEnd()
		return
	}
	now, g := k.now(), k.usable(k.pieces[0])
	if now <= g.NotBefore || now > g.NotAfter || k.rolledBack() {
		return
	}
	k.outage.silent = false
	without := k.timeOf(now).Sub(k.timeOf(k.outage.since))
	k.log.Warn("IDs can be issued again", "worker_id", g.WorkerID, "after", max(without, 0))
}

// tellOpening logs that the window just acquired opens later than any clock that is
// right can have pushed it: whoever waits for it in silence waits for years.
func (k *Keeper) tellOpening() {
	longest := max(k.cfg.Lease.Horizon, coord.Describe(k.cfg.Coordinator).Rules.LongestWindow())
	now, opens := k.timeOf(k.now()), k.timeOf(k.grant.NotBefore+1)
	if opens.Sub(now)-longest-farSkew <= k.cfg.Lease.TTL {
		return
	}
	k.log.Warn("the window opens later than any right clock can have pushed it, no IDs until then: "+
		"an earlier holder's clock was far ahead, or an operator has quarantined the namespace for so "+
		"long, or this machine's clock is behind",
		"worker_id", k.grant.WorkerID, "opens", opens, "now", now)
}

// timeOf returns the time at which a tick begins.
func (k *Keeper) timeOf(tick int64) time.Time {
	return time.UnixMicro(k.cfg.Request.Scale.Micro(tick)).UTC()
}

// causeOf returns what the log says of an error: its text, and when it ends if that
// is known.
func causeOf(err error) []any {
	attrs := []any{slog.Any("error", err)}
	var quarantined *coord.QuarantinedError
	if errors.As(err, &quarantined) {
		attrs = append(attrs, slog.Time("until", quarantined.Until.UTC()))
	}
	return attrs
}

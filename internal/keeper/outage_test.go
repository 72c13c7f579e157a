package keeper_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/coordtest"
	"github.com/unalike-id/unalike/internal/keeper"
)

// journal is a log that a test reads.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// logger returns a logger whose lines j keeps, without their time.
func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{ReplaceAttr: func(_ []string,
		a slog.Attr,
	) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// news returns the lines since the last call.
func (j *journal) news() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := strings.FieldsFunc(j.text.String(), func(c rune) bool { return c == '\n' })
	j.text.Reset()
	return lines
}

// logged compares what was logged since the last look: one text for each line, all
// of whose words, between commas, are in it.
func (r *rig) logged(lines ...string) {
	r.t.Helper()
	got := r.log.news()
	if len(got) != len(lines) {
		r.t.Fatalf("logged was\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(lines, "\n\t"))
	}
	for i, line := range lines {
		for word := range strings.SplitSeq(line, ", ") {
			if !strings.Contains(got[i], word) {
				r.t.Errorf("logged was\n\t%s\nwhich lacks\n\t%s", got[i], word)
			}
		}
	}
}

// quiet is start, of which the log tells nothing any more.
func quiet(t *testing.T, workers int, edit ...func(*keeper.Config)) *rig {
	t.Helper()
	r := start(t, workers, edit...)
	r.logged(`level=INFO, msg="worker ID acquired"`)
	return r
}

// stamped prints a time as the log does.
func stamped(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// moment prints the beginning of a tick as the log does.
func moment(tick int64) string { return stamped(time.UnixMicro(scale.Micro(tick))) }

func TestLogTellsOnceThatIDsStopAndWhyAndThatTheyGoOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := quiet(t, 1)
		pass(12 * time.Second)
		r.logged()

		r.fake.Refuse(true)
		end := r.gate.at().notAfter
		r.storm(8 * time.Second)
		r.logged(`level=WARN, msg="renewal failed, going on inside the window", worker_id=0, unreachable`)
		for r.now() <= end+1 { // an alarm may be a microsecond late
			pass(time.Millisecond)
		}
		r.logged(`level=ERROR, msg="issue window ended: no IDs until the coordinator answers", ` +
			`worker_id=0, unreachable, ended=` + moment(end+1))
		r.storm(10 * time.Second)
		pass(time.Minute)
		r.logged()

		until := time.Now().Add(time.Hour)
		r.line.set(func(l *line) {
			l.renewed = func(coord.Grant, coord.Grant, error) (coord.Grant, error) {
				return coord.Grant{}, &coord.QuarantinedError{Namespace: "n", Until: until}
			}
		})
		pass(time.Minute)
		r.logged(`level=WARN, msg="still no IDs, for another reason", worker_id=0, quarantined, until=` +
			stamped(until))

		r.line.set(func(l *line) { l.renewed = nil })
		pass(time.Minute)
		r.logged(`level=WARN, msg="still no IDs, for another reason", worker_id=0, unreachable`)

		r.fake.Refuse(false)
		r.stamps(2 * time.Second)
		renewals := r.fake.CallsOf(coordtest.Renew)
		resumed := scale.Tick(renewals[len(renewals)-1].At.UnixMicro())
		outage := time.Duration(resumed-end-1) * time.Millisecond
		r.logged(`level=WARN, msg="IDs can be issued again", worker_id=0, after=` + outage.String())

		r.fake.Refuse(true)
		pass(time.Minute)
		r.logged("going on inside the window", "no IDs until the coordinator answers")
	})
}

func TestLogTellsAnotherKindOfCauseInsideTheWindow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := quiet(t, 1)
		r.fake.Fail(coordtest.Renew, coordtest.ErrUnreachable, 8)
		r.fake.Fail(coordtest.Renew, context.DeadlineExceeded, 2) // the same kind: the back end is away
		r.fake.Fail(coordtest.Renew, coord.ErrInvalid, 2)
		pass(20 * time.Second)
		r.logged(`level=WARN, msg="renewal failed, going on inside the window", unreachable`,
			`level=WARN, msg="renewal failed, going on inside the window", invalid`,
			`level=WARN, msg="renewed again", worker_id=0`)
	})
}

// A renewal that fails when the window is over already tells one thing, not two.
func TestLogDoesNotSayInsideTheWindowAfterItsEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := quiet(t, 1)
		r.fake.Refuse(true)
		r.clock.Step(time.Hour)
		r.Poke()
		pass(10 * time.Second)
		r.logged(`level=ERROR, msg="issue window ended: no IDs until the coordinator answers", ` +
			`unreachable`)
	})
}

func TestLogIsSilentOnAWindowThatTheDueRenewalBringsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := quiet(t, 1)
		for range 20 {
			r.clock.Step(time.Hour)
			pass(0) // the keeper sees the end by itself
			if !r.gate.stamp() {
				r.Poke()
			}
			pass(10 * time.Second)
		}
		r.stamps(0)
		r.logged()
	})
}

func TestLogTellsOfAWindowThatStaysInThePast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := script(t, time.Second, func(g coord.Grant, _ int64) (coord.Grant, error) { return g, nil })
		pass(time.Minute)
		r.logged("acquired", `level=ERROR, msg="issue window ended: no IDs until the coordinator `+
			`answers", over by this machine's clock`)
	})
}

func TestLogTellsOfTheGapBelowARaisedFloor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := quiet(t, 1)
		end := r.gate.at().notAfter
		floor := r.raise(33 * time.Second)
		pass(32 * time.Second)
		r.logged(`level=WARN, msg="the floor was raised, the window goes on above it", `+
			`opens=`+moment(floor+1),
			`level=ERROR, msg="issue window ended: no IDs until the next one opens", ended=`+moment(end+1)+
				`, opens=`+moment(floor+1))
		pass(10 * time.Second)
		r.logged(`level=WARN, msg="IDs can be issued again", after=3s`)
	})
}

func TestLogTellsOfTheTimeWithoutAWorkerID(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := quiet(t, 1)
		r.fake.Steal(0)
		pass(10 * time.Second)
		r.logged("lease is gone, renewing", "lease lost, acquiring",
			`level=WARN, msg="worker ID not acquired, trying again", no free worker ID`)
		r.fake.Fail(coordtest.Acquire, coord.ErrClockSkew, 3)
		pass(20 * time.Second)
		r.logged(`trying again, clock skew`, `trying again, no free worker ID`)
		r.fake.Expire(0)
		pass(time.Minute)
		r.logged("worker ID acquired", `level=WARN, msg="IDs can be issued again", worker_id=0`)
	})
}

//go:build unix

package main

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
)

// hoursRow is the row of docs/outages.md about an outage of hours, with the flag of init and the
// horizon that it names.
var hoursRow = regexp.MustCompile("(?m)^\\| hours \\|.*`unalike init (--max-horizon=?) ?(\\w+)`.*`horizon: (\\w+)`.* and a state file")

// hours is a namespace that was declared by the real program as the page says, on an etcd in a
// process of its own, which is to be killed.
type hours struct {
	etcd    *etcdtest.Member
	url     string
	file    string
	horizon time.Duration
}

func newHours(t *testing.T) *hours {
	t.Helper()
	row := hoursRow.FindStringSubmatch(readFile(t, "docs/outages.md"))
	if row == nil {
		t.Fatal("docs/outages.md has no row about hours any more")
	}
	horizon, err := time.ParseDuration(row[3])
	if err != nil || row[2] != row[3] {
		t.Fatalf("the row about hours declares %s, and has generators with %s: %v", row[2], row[3], err)
	}
	h := &hours{etcd: etcdtest.StartCluster(t, 1).Members[0], file: filepath.Join(t.TempDir(), "unalike.state"), horizon: horizon}
	h.url = "etcd://" + h.etcd.Endpoint + "/" + rand.Text()
	p := start(t, t.TempDir(), "init", row[1], row[2], "--coordinator", h.url)
	said, err := p.out.ReadString('\n')
	if code := p.wait(); err != nil || code != exitOK || !strings.HasSuffix(said, fmt.Sprintf("and windows of up to %v\n", horizon)) {
		t.Fatalf("init: exit code %d, %q, %v\n%s", code, said, err, &p.stderr)
	}
	return h
}

// TestServeHours: in a namespace that was declared for it, a server that was killed goes on while
// its etcd is killed, with hours of its window left, and has its worker ID when etcd is back.
func TestServeHours(t *testing.T) {
	t.Parallel()
	h := newHours(t)
	settings := serveFileOf(t, "serve.yaml", fmt.Sprintf("coordinator: %s\nhorizon: %v\nrenew: 500ms\nstate: %s\n", h.url, h.horizon, h.file))
	most, least := h.horizon.Seconds(), (h.horizon - 10*time.Minute).Seconds() // for however slow a machine
	var all tally
	launch := func() *served {
		began := time.Now()
		s := startServe(t, "--config", settings)
		s.await("/readyz", "", isOK)
		s.take(&all)
		t.Logf("the first IDs came %v after the start", time.Since(began))
		return s
	}
	s := launch()
	first := s.worker()
	if first.Generation != 1 || first.WindowLeft < least || first.WindowLeft > most || first.MarkLeft <= 0 || first.MarkLeft > 4 || first.Failing != "" {
		t.Errorf("at first: %+v", first)
	}
	s.awaitNamed(h.file)
	h.etcd.Kill()
	for range 2 {
		s.kill()
		s = launch()
		if w := s.worker(); w.WorkerID != first.WorkerID || w.WindowLeft < least || w.WindowLeft > most || w.MarkLeft > 4 || w.Failing == "" {
			t.Errorf("while etcd is away: %+v", w)
		}
	}
	h.etcd.Restart(t)
	back := time.Now()
	s.await("/v1/generators", "", func(int, string) bool { return s.worker().Failing == "" })
	t.Logf("renewed %v after etcd was back", time.Since(back))
	if w := s.worker(); w.WorkerID != first.WorkerID || w.WindowLeft < least || w.WindowLeft > most || time.Since(w.LastRenewal) > time.Minute {
		t.Errorf("etcd is back: %+v", w)
	}
	s.take(&all)
	s.stop()
	if len(all.last) != 1 || all.count != 400 {
		t.Errorf("%d IDs of the worker IDs %v were issued; want 400 of one", all.count, all.last)
	}
}

// TestHoursOfOutage: who was killed goes on above all IDs when hours of the outage have passed,
// and stops when its window has ended, with an error that says so; a start after that is told the
// same.
func TestHoursOfOutage(t *testing.T) {
	t.Parallel()
	h := newHours(t)
	launch := func(ahead, limit time.Duration) *drivertest.Child {
		url := fmt.Sprintf("%s?horizon=%v&state=%s", h.url, h.horizon, h.file)
		return drivertest.StartChild(t, aheadURL+"="+url, aheadBy+"="+ahead.String(), aheadLimit+"="+limit.String())
	}
	began := time.Now()
	var last core.Parts
	// above checks that a holder whose clock is as far ahead has answered with an ID above all others.
	above := func(line string, ahead time.Duration) {
		t.Helper()
		id, err := core.ParseID(line)
		got := core.DefaultLayout().Decompose(id)
		early, late := began.Add(ahead-time.Second), began.Add(ahead+10*time.Minute) // for however slow a machine
		if err != nil || !got.Time.After(last.Time) || got.Time.Before(early) || got.Time.After(late) || !last.Time.IsZero() && got.WorkerID != last.WorkerID {
			t.Fatalf("%v ahead: %q, %+v after %+v; want an ID above it, with the same worker ID", ahead, line, got, last)
		}
		last = got
	}
	// step steps the clock of a holder, and asks until its answer satisfies ok: the high-water mark has
	// to follow the clock, and the back end to be asked in vain.
	step := func(c *drivertest.Child, by time.Duration, ok func(answer string) bool) string {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; by = 0 {
			if _, err := fmt.Fprintln(c.In, by); err != nil {
				t.Fatal(err)
			}
			if line := c.Line(t); ok(line) {
				return line
			} else if time.Now().After(end) {
				t.Fatalf("the holder says %q", line)
			}
			pauseFor(t.Context(), 20*time.Millisecond)
		}
	}
	isID := func(line string) bool { _, err := core.ParseID(line); return err == nil }

	c := launch(0, callTime)
	above(c.Line(t), 0)
	awaitStateNamed(t, h.file, new(strings.Builder))
	h.etcd.Kill()
	hour := h.horizon / 6
	for _, ahead := range []time.Duration{0, 3 * hour, 5 * hour} {
		c.Kill()
		c = launch(ahead, callTime)
		above(c.Line(t), ahead)
	}
	above(step(c, hour/2, isID), 5*hour+hour/2)

	end := began.Add(h.horizon)
	told := step(c, hour, func(line string) bool {
		return containsAll(line, "window ended: core: issue window ended: worker ID ", "renewal failed", "no answer from http://"+h.etcd.Endpoint, "service resumes by itself once the coordinator answers")
	})
	wantEnd(t, told, "could stamp until ", end.Add(-hour/2), end) // its mark was there last
	c.Kill()
	told = launch(h.horizon+hour, 2*time.Second).Line(t)
	if !containsAll(told, "ended: core: starting a generator: no worker ID after ", fmt.Sprintf("the last window in state file %q ended at ", h.file), h.etcd.Endpoint) {
		t.Errorf("a start after the end of the window says %q", told)
	}
	wantEnd(t, told, " ended at ", end, end)
}

// containsAll reports whether a text has all of several parts.
func containsAll(text string, parts ...string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}

// wantEnd checks that a text names a moment after some words: not before the first one, and after the
// last one by no more than even a slow machine needs to start a program.
func wantEnd(t *testing.T, text, after string, first, last time.Time) {
	t.Helper()
	const form = "2006-01-02T15:04:05.000Z"
	_, at, _ := strings.Cut(text, after)
	got, err := time.Parse(form, at[:min(len(form), len(at))])
	if err != nil || got.Before(first.Add(-time.Second)) || got.After(last.Add(10*time.Minute)) {
		t.Errorf("%q says %v, %v after %q; want %v to %v, or a little later", text, got, err, after, first, last)
	}
}

package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
	"github.com/unalike-id/unalike/segment"
)

var (
	someTime = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	errAway  = fmt.Errorf("renewal failed: %w", context.DeadlineExceeded)
)

// wellFacts are those of a server with generators and tags that are all well.
func wellFacts(generators, tags int) *facts {
	f := &facts{now: someTime, up: time.Hour, wasReady: true, segments: tags > 0}
	f.past = history{
		{someTime.Add(-5 * time.Second), map[string]uint64{}},
		{someTime, map[string]uint64{}},
	}
	for i := range generators {
		f.generators = append(f.generators, generatorFacts{
			name: []string{"orders", "users", "a", "b", "c"}[i], layout: core.DefaultLayout(),
			health: core.Health{
				Healthy: true,
				Workers: []core.WorkerHealth{{WorkerID: 7, WindowLeft: 24 * time.Second}},
			},
		})
	}
	for i := range tags {
		f.tags = append(f.tags,
			segment.Health{Tag: fmt.Sprintf("tag%d", i), Healthy: true, Refills: 1, Left: 500})
	}
	return f
}

// fail makes a generator issue nothing.
func (f *facts) fail(i int, err error) {
	f.generators[i].health.Healthy, f.generators[i].health.Err = false, err
}

// fails makes a generator issue nothing.
func fails(i int, err error) func(*facts) { return func(f *facts) { f.fail(i, err) } }

// TestSays: whoever reads the first sentence alone knows what is wrong.
func TestSays(t *testing.T) {
	ended := &core.WindowEndedError{WorkerID: 7, Cause: errAway}
	for name, tt := range map[string]struct {
		generators, tags int
		change           func(f *facts)
		want             string // a sentence a line, the first one first
	}{
		"all well": {
			2, 3, func(*facts) {},
			"well: All is well: 2 generators issue IDs, and no tag lacks numbers.",
		},
		"one generator well": {1, 0, func(*facts) {}, "well: All is well: 1 generator issues IDs."},
		"tags well":          {0, 1, func(*facts) {}, "well: All is well: no tag lacks numbers."},
		"a remark is no trouble": {
			1, 0, func(f *facts) { f.generators[0].health.Warnings = []string{"no clock"} },
			"well: All is well: 1 generator issues IDs.\nnote: Generator orders: no clock",
		},
		"starting": {
			1, 0, func(f *facts) {
				f.wasReady, f.up = false,
					time.Second
				f.fail(0, &core.NotStartedError{})
			},
			"warn: Starting. No IDs from generator orders, because its coordinator has not answered yet.",
		},
		"started long ago": {
			1, 0, func(f *facts) { f.wasReady = false; f.fail(0, &core.NotStartedError{Cause: errAway}) },
			"down: No IDs from generator orders, because its coordinator does not answer.",
		},
		"stopping": {
			1, 0, func(f *facts) { f.stopping = true; f.fail(0, core.ErrClosed) },
			"warn: Stopping: what is under way ends, and worker IDs are given back.\ndown: No IDs from " +
				"generator orders, because it is closed.",
		},
		"coordinator away": {
			1, 0, func(f *facts) { f.generators[0].health.Workers[0].Failing = errAway },
			"warn: Generator orders goes on for 24 s without a renewal, because its coordinator does " +
				"not answer.",
		},
		"coordinator away for long": {
			1, 0, fails(0, ended),
			"down: No IDs from generator orders, because its coordinator does not answer.",
		},
		"many generators": {5, 0, func(f *facts) {
			for i := range 5 {
				f.fail(i, ended)
			}
			f.fail(1, &core.NotStartedError{Cause: coord.ErrQuarantined})
		}, "down: 5 of 5 generators issue no IDs: orders, because its coordinator does not answer; " +
			"users, because its namespace is in quarantine; " +
			"a, because its coordinator does not answer; and 2 more."},
		"one worker ID of two": {1, 0, func(f *facts) {
			f.generators[0].health.Workers = append(f.generators[0].health.Workers,
				core.WorkerHealth{WorkerID: 9, Err: ended})
		}, "warn: Generator orders issues no IDs with worker ID 9, because its coordinator does not " +
			"answer; it goes on with the others."},
		"state file": {
			1, 0, func(f *facts) { f.generators[0].health.Workers[0].StateFile = true },
			"warn: Generator orders cannot write its state file, and is about to issue no IDs: look " +
				"at the disk.",
		},
		"clock stepped back, another worker ID": {
			1, 0, func(f *facts) { f.past[1].counts["rollbacks orders"] = 1 },
			"warn: Generator orders met a clock that stepped back in the last minute, 1 time; IDs " +
				"stay unique.",
		},
		"an earlier window": {
			1, 0, fails(0, &core.WindowNotOpenError{Opens: someTime.Add(4 * time.Second), Now: someTime}),
			"down: No IDs from generator orders, because an earlier window has to end first, which " +
				"is in 4.0 s.",
		},
		"the last worker ID": {
			1, 0, func(f *facts) { f.generators[0].workers = &workerList{of: 1024} },
			"warn: Generator orders has no worker ID left for another instance: all 1,024 are used up.",
		},
		"ceiling reached": {
			1, 0, func(f *facts) { f.past[1].counts["ids orders"] = 5 * 4_096_000 },
			"warn: Generator orders has reached its ceiling of 4,096,000 IDs/s: callers wait. " +
				"More stripes or instances raise it.",
		},
		"ceiling near": {
			1, 0, func(f *facts) { f.past[1].counts["ids orders"] = 5 * 3_500_000 },
			"warn: Generator orders is near its ceiling of 4,096,000 IDs/s. More stripes or " +
				"instances raise it.",
		},
		"time bits end": {
			1, 0, func(f *facts) {
				l := &f.generators[0].layout
				l.TimeBits, l.Epoch = 31, someTime.Add(-(1<<31-1)*time.Millisecond)
			},
			"warn: Generator orders has no more time bits after 2026-05-04: plan the move to " +
				"another layout.",
		},
		"store away from the start": {
			1, 0, func(f *facts) { f.segments, f.store = true, errors.New("no answer") },
			"down: No numbers for any tag, because the store does not answer.",
		},
		"store away": {1, 2, func(f *facts) {
			f.store = segment.ErrUnavailable
			f.tags[0] = segment.Health{Tag: "tag0", Err: errAway, Failing: errAway}
			f.tags[1].Failing, f.tags[1].TimeLeft = errAway, 40*time.Second
		}, "down: No numbers for 1 tag: tag0, because the store does not answer.\nwarn: No " +
			"refill for 1 tag: tag1, because the store does not answer: what is in memory lasts 40 s."},
		"store away, nobody has asked": {
			1, 1, func(f *facts) {
				f.store, f.tags[0] = errAway,
					segment.Health{Tag: "tag0", Err: segment.ErrUnavailable}
			},
			"down: No numbers for tags that have none in memory, because the store does not answer.",
		},
		"store away, rate unknown": {
			1, 1, func(f *facts) { f.tags[0].Failing = errAway },
			"warn: No refill for 1 tag: tag0, because the store does not answer: 500 numbers are " +
				"left in memory.",
		},
		"a tag that is being refilled": {
			0, 1, func(f *facts) {
				f.tags[0] = segment.Health{Tag: "tag0", Err: segment.ErrUnavailable, Failures: 3}
			},
			"well: All is well: no tag lacks numbers.",
		},
		"the disk of a state file hangs": {
			1, 0, fails(0, fmt.Errorf("not written yet: %w", &fs.PathError{Path: "/ids"})),
			"down: No IDs from generator orders, because the file /ids cannot be used.",
		},
		"the worst first": {
			2, 0, func(f *facts) { f.generators[0].health.Workers[0].Failing = errAway; f.fail(1, ended) },
			"down: 1 of 2 generators issues no IDs: users, because its coordinator does not " +
				"answer.\nwarn: " +
				"Generator orders goes on for 24 s without a renewal, because its coordinator does not answer.",
		},
	} {
		f := wellFacts(tt.generators, tt.tags)
		tt.change(f)
		var all []string
		for _, r := range says(f) {
			all = append(all, r.Level+": "+r.Text)
		}
		if got := strings.Join(all, "\n"); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

// TestRates: rates are over some seconds, counts over a minute, and neither is negative where a
// count begins again.
func TestRates(t *testing.T) {
	var s samples
	if _, past := s.add(sample{someTime, nil}, true); past.rate("x") != 0 || past.minute("x") != 0 ||
		len(past.rates("x")) != 0 {
		t.Error("there is a rate of one sample")
	}
	var past history
	for i := range 200 {
		one := sample{
			someTime.Add(time.Duration(i) * 500 * time.Millisecond),
			map[string]uint64{"x": uint64(i * i), "back": uint64(200 - i)},
		}
		_, past = s.add(one, false)
	}
	if len(past) != keptSamples {
		t.Errorf("%d samples", len(past))
	}
	last := past[len(past)-1]
	at := func(ago int) float64 { return float64(past[len(past)-1-ago].counts["x"]) }
	if got, want := past.rate("x"), (float64(last.counts["x"])-at(5))/5; got != want {
		t.Errorf("%v a second, want %v", got, want)
	}
	if got, want := past.minute("x"), float64(last.counts["x"])-at(60); got != want {
		t.Errorf("%v a minute, want %v", got, want)
	}
	if past.rate("back") != 0 || past.minute("none") != 0 || len(past.rates("x")) != keptSamples-1 {
		t.Errorf("%v %v %v", past.rate("back"), past.minute("none"), past.rates("x"))
	}
}

// TestDurations: it is told what 99 % of the last requests did not exceed, and streams do not
// count.
func TestDurations(t *testing.T) {
	var stream, route traffic
	stream.count(false, 200, time.Hour)
	if got := stream.slow(); got != 0 {
		t.Errorf("a stream is a request of %v", got)
	}
	for i := range 3000 {
		route.count(true, 200, time.Duration(i+1)*time.Millisecond)
		want := map[int]time.Duration{0: 1, 1: 2, 99: 99, 199: 198, 2999: 2990}[i]
		if got := route.slow(); want > 0 && got != want*time.Millisecond {
			t.Errorf("99 %% of %d requests took at most %v, want %v ms", i+1, got, want)
		}
	}
}

// TestCut: a table has a bound, and says how much is left out.
func TestCut(t *testing.T) {
	f := wellFacts(1, mostTags+1)
	f.tags[mostTags].Failing = errAway
	if got := segmentTable(f); len(got.Rows) != mostTags ||
		got.Rows[0][0].Text != f.tags[mostTags].Tag || got.Note != "200 of 201 rows are shown" {
		t.Errorf("%d rows from %v on, %q", len(got.Rows), got.Rows[0][0], got.Note)
	}
}

// TestWords: figures and times for people.
func TestWords(t *testing.T) {
	for f, want := range map[float64]string{
		0: "0", 0.31: "0.3", 3: "3", 9.94: "9.9", 9.97: "10",
		12.6: "13", 999: "999", 1000: "1,000", 4096000: "4,096,000",
	} {
		if got := figure(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0 s", 80 * time.Microsecond: "80 µs", 12 * time.Millisecond: "12 ms",
		1500 * time.Millisecond: "1.5 s", 84 * time.Second: "84 s",
		5 * time.Minute: "5 min", 3 * time.Hour: "3 h", 50 * time.Hour: "2 d",
		5000 * 24 * time.Hour: "5,000 d",
	} {
		if got := span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// TestSaysOther: watchers are told when another thing is wrong, and not when a figure has changed.
func TestSaysOther(t *testing.T) {
	page := func(text, detail string) *snapshot {
		return &snapshot{view: &view{
			Head: head{Says: []remark{{levelWarn, text, detail}}, Clock: detail},
		}}
	}
	now := page("a goes on for 2.7s, because it is 2026-11-28T15:00:00Z.", "after 990ms")
	for _, tt := range []struct {
		than *snapshot
		want bool
	}{
		{nil, true},
		{page("a goes on for 1m2s, because it is 2026-11-28T15:00:01Z.", "after 1.24s"), false},
		{page("b goes on for 2.7s, because it is 2026-11-28T15:00:00Z.", "after 990ms"), true},
	} {
		if got := saysOther(tt.than, now); got != tt.want {
			t.Errorf("%+v: other than %+v: %t", now, tt.than, got)
		}
	}
	watch := func(reason string, workers ...uint32) *unalikev1.WatchResponse {
		return &unalikev1.WatchResponse{Reason: reason, WorkerIds: workers}
	}
	if first := watch("no reply after 3.7s"); changed(first, watch("no reply after 998ms")) ||
		!changed(first, watch("refused")) || !changed(first, watch("no reply after 3.7s", 1)) {
		t.Error("a watcher is told of figures, or not told of a change")
	}
}

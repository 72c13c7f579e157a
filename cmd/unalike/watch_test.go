package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// looks is a namespace as it looks each time; after the last, the watch is ended.
type looks struct {
	coord.AdminCoordinator
	slots [][]coord.Slot
	errs  []error
	n     int
	end   context.CancelFunc
}

// List implements [coord.AdminCoordinator].
func (l *looks) List(ctx context.Context) ([]coord.Slot, error) {
	if l.n == len(l.slots) {
		l.end()
		return nil, ctx.Err()
	}
	l.n++
	return l.slots[l.n-1], l.errs[l.n-1]
}

// Inspect implements [coord.AdminCoordinator]. It is closed between the first look and the second.
func (l *looks) Inspect(context.Context) (coord.Namespace, error) {
	if l.n < 2 {
		return coord.Namespace{}, nil
	}
	return coord.Namespace{Closed: true}, nil
}

func (l *looks) then(err error, slots ...coord.Slot) *looks {
	l.slots, l.errs = append(l.slots, slots), append(l.errs, err)
	return l
}

// watched runs a watch for as long as l has something to show.
func watched(t *testing.T, l *looks, change func(*watch)) (out, stderr string, err error) {
	t.Helper()
	var o, e strings.Builder
	k := &caller{waits: waits{answer: callTime, quiet: callTime}}
	moment := at
	w := &watch{
		app: &app{streams: streams{out: &o, err: &e}}, of: &namespace{askedAdmin: askedAdmin{l, k}},
		now:   func() time.Time { moment = moment.Add(time.Second); return moment },
		known: map[int]coord.Slot{},
	}
	change(w)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.end = cancel
	often := watchOptions{interval: spanValue{v: 1}} // the next look follows at once
	err = often.again(ctx, w.look)
	return o.String(), e.String(), err
}

func TestWatchPrintsChanges(t *testing.T) {
	s := func(id int, state coord.SlotState, generation uint64, holder string) coord.Slot {
		return coord.Slot{WorkerID: id, State: state, Generation: generation, Holder: holder, Until: at}
	}
	first, free := s(0, coord.SlotHeld, 1, "a:1"), s(2, coord.SlotFree, 4, "z:9")
	renewed, named, taken := first, s(1, coord.SlotHeld, 1, "b:2"), s(0, coord.SlotHeld, 3, "c:3")
	renewed.Until, renewed.Renewed = at.Add(time.Minute), at
	named.Identity = "pod-b"
	retired := s(2, coord.SlotRetired, 5, "")
	story := func() *looks {
		return new(looks).
			then(nil, first, free).
			then(nil, renewed, free). // no news
			then(nil, renewed, named, free).
			then(errors.New("broken")).
			then(errors.New("broken")).                                         // reported once
			then(errors.New("damaged"), s(0, coord.SlotFree, 1, "a:1"), named). // worker ID 2 is not gone
			then(nil, s(0, coord.SlotHeld, 2, "c:3"), named, retired).
			then(nil, taken, named, retired). // taken over between two looks
			then(nil, taken, retired)         // which should never happen
	}
	out, stderr, err := watched(t, story(), func(*watch) {})
	want := `2026-05-17T09:30:01.000Z  worker ID 0  held by a:1, generation 1
2026-05-17T09:30:01.000Z  worker ID 2  free, last held by z:9, generation 4
2026-05-17T09:30:02.000Z  CLOSED
2026-05-17T09:30:03.000Z  worker ID 1  held by b:2 (identity pod-b), generation 1
2026-05-17T09:30:08.000Z  worker ID 0  free, last held by a:1, generation 1
2026-05-17T09:30:09.000Z  worker ID 0  held by c:3, generation 2
2026-05-17T09:30:09.000Z  worker ID 2  retired, generation 5
2026-05-17T09:30:10.000Z  worker ID 0  held by c:3, generation 3
2026-05-17T09:30:11.000Z  worker ID 1  gone, last held by b:2 (identity pod-b), generation 1
`
	want = strings.Replace(want, "CLOSED\n", describeFloor(coord.Namespace{Closed: true}, at), 1)
	if !errors.Is(err, context.Canceled) || out != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out, want)
	}
	if strings.Count(stderr, "broken") != 1 || strings.Count(stderr, "damaged") != 1 {
		t.Errorf("the standard error output is %q", stderr)
	}

	out, _, _ = watched(t, story(), func(w *watch) { w.held = true })
	if strings.Contains(out, "worker ID 2 ") || strings.Count(out, "\n") != 7 {
		t.Errorf("--held prints\n%s", out)
	}
	out, _, _ = watched(t, story(), func(w *watch) { w.json = true })
	if strings.Count(out, "\n") != 8 || !strings.Contains(out, `"worker_id":1,"state":"gone"`) ||
		!strings.HasPrefix(out, `{"seen":"2026-05-17T09:30:01.000Z","worker_id":0,"state":"held"`) {
		t.Errorf("in JSON:\n%s", out)
	}
}

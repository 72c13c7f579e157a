package verify

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
)

// TestWorkers: what is said of each worker ID.
func TestWorkers(t *testing.T) {
	var ids []core.ID
	for i := range 101 {
		ids = append(ids, id(t, time.Duration(i)*100*time.Millisecond, 5, 0))
	}
	ids = append(ids, id(t, time.Second, 2, 0), id(t, time.Second, 2, 2), id(t, time.Second, 2, 1),
		id(t, 2*time.Second, 2, 1))
	r := mustCheck(t, options(t), text("f", lines(ids...)))
	want := []Worker{
		{
			WorkerID: 2, IDs: 4, First: year2026.Add(time.Second), Last: year2026.Add(2 * time.Second),
			OutOfOrder: 1,
		},
		{WorkerID: 5, IDs: 101, First: year2026, Last: year2026.Add(10 * time.Second)},
	}
	if fmt.Sprint(r.Workers) != fmt.Sprint(want) || r.OutOfOrder != 1 {
		t.Errorf("%+v\nwant %+v", r.Workers, want)
	}
}

// TestOrder: order counts within a source. Files are given in any order.
func TestOrder(t *testing.T) {
	early, later := id(t, 0, 1, 0), id(t, time.Second, 1, 0)
	o := options(t)
	if r := mustCheck(t, o, text("b", lines(later)),
		text("a", lines(early, later+1))); r.OutOfOrder != 0 || !r.OK(true) {
		t.Errorf("two files: %+v", r)
	}
	r := mustCheck(t, o, text("f", lines(later, id(t, 0, 2, 0), early, early+1)))
	if r.OutOfOrder != 1 || r.OK(true) || !r.OK(false) {
		t.Fatalf("one file: %+v", r)
	}
	e, want := r.Examples[0], fmt.Sprintf("%d follows %d, which worker ID 1 made 1s later", early,
		later)
	if e.Kind != KindOrder || e.Line != 3 || e.Text != want {
		t.Errorf("%s at line %d: %s; want %s", e.Kind, e.Line, e.Text, want)
	}
}

// TestBounds: the first and the last possible moment are possible.
func TestBounds(t *testing.T) {
	o := options(t)
	o.Earliest, o.Latest = year2026.Add(time.Microsecond), year2026.Add(time.Second)
	body := lines(id(t, 0, 1, 0), id(t, time.Millisecond, 1, 0), id(t, time.Second, 1, 4095),
		id(t, time.Second+time.Millisecond, 1, 0))
	if r := mustCheck(t, o, text("f", body)); r.Early != 1 || r.TooLate != 1 ||
		r.Examples[0].Line != 1 || r.Examples[1].Line != 4 {
		t.Errorf("%+v", r)
	}
	o.Earliest = year2026
	if r := mustCheck(t, o, text("f", body)); r.Early != 0 || r.OK(false) {
		t.Errorf("%+v", r)
	}
	o.Earliest, o.Latest = time.Time{}, time.Time{}
	if r := mustCheck(t, o, text("f", body+"0\n9223372036854775807\n")); !r.OK(false) {
		t.Errorf("%+v", r)
	}
	o.Latest = core.DefaultLayout().Epoch.Add(-time.Hour)
	if r := mustCheck(t, o, text("f", "0\n")); r.TooLate != 1 {
		t.Errorf("everything is later than a moment before the epoch: %+v", r)
	}
}

// TestManyWorkers: numbers that look as if they had more worker IDs than memory is meant for are
// still compared.
func TestManyWorkers(t *testing.T) {
	o := options(t)
	layout := core.Layout{
		Epoch: o.Layout.Epoch, Unit: time.Millisecond, TimeBits: 41, WorkerBits: 20,
		SequenceBits: 2,
	}
	o.Layout = &layout
	var b strings.Builder
	for i := range maxWorkers + 10 {
		fmt.Fprintln(&b, int64(i)<<2)
	}
	fmt.Fprintln(&b, int64(maxWorkers+9)<<2)
	r := mustCheck(t, o, text("f", b.String()))
	if r.IDs != maxWorkers+11 || len(r.Workers) != maxWorkers || r.Unattributed != 11 ||
		r.Duplicates != 1 || r.Clashes[0].Parts.WorkerID != maxWorkers+9 {
		t.Errorf("%d IDs, %d worker IDs, %d of others, %d duplicates", r.IDs, len(r.Workers),
			r.Unattributed, r.Duplicates)
	}
}

// TestPlainNumbers: without a layout, only duplicates count.
func TestPlainNumbers(t *testing.T) {
	o := options(t)
	o.Layout = nil
	r := mustCheck(t, o, text("f", "3\n1\n9223372036854775807\n3\n"))
	if r.IDs != 4 || r.Duplicates != 1 || r.Clashes[0].ID != 3 || r.Clashes[0].Parts != nil ||
		len(r.Workers) != 0 || r.OutOfOrder != 0 {
		t.Errorf("%+v", r)
	}
}

package verify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
)

// text is a source in memory.
func text(name, s string) Source {
	return Source{Name: name, Size: int64(len(s)), Again: true, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(s)), nil
	}}
}

var year2026 = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

func options(t *testing.T) Options {
	t.Helper()
	layout := core.DefaultLayout()
	parse := func(s string) (uint64, error) {
		read := core.ParseID
		if len(s) == 11 {
			read = core.ParseBase62
		}
		v, err := read(s)
		return uint64(v), err
	}
	return Options{
		Format: Format{Digits: true, Parse: parse}, Layout: &layout, Latest: year2026.Add(time.Hour),
		Memory: 1 << 20, Temp: t.TempDir(), Shown: 10,
	}
}

// id is an ID of the default layout.
func id(t *testing.T, at time.Duration, worker, sequence int) core.ID {
	t.Helper()
	v, err := core.DefaultLayout().Compose(year2026.Add(at), worker, sequence)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func lines(ids ...core.ID) string {
	var b strings.Builder
	for _, v := range ids {
		fmt.Fprintln(&b, v)
	}
	return b.String()
}

func mustCheck(t *testing.T, o Options, sources ...Source) *Report {
	t.Helper()
	r, err := Check(t.Context(), sources, o)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(o.Temp); err != nil || len(left) > 0 {
		t.Errorf("left in the folder for sorting: %v, %v", left, err)
	}
	return r
}

// TestAgainstAMap compares counts with those of a map, with many runs on disk.
func TestAgainstAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for _, n := range []int{0, 1, 1 << 16, 1<<16 + 1, 300_000} {
		counts := map[core.ID]int64{}
		perWorker := map[int]int64{}
		files := make([]bytes.Buffer, 3)
		for range n {
			v := id(t, time.Duration(r.IntN(1000))*time.Millisecond, r.IntN(4), r.IntN(200))
			counts[v]++
			perWorker[core.DefaultLayout().Decompose(v).WorkerID]++
			fmt.Fprintln(&files[r.IntN(3)], v)
		}
		want, extra := int64(0), int64(0)
		for _, c := range counts {
			if c > 1 {
				want++
				extra += c - 1
			}
		}
		got := mustCheck(t, options(t), text("a", files[0].String()), text("b", files[1].String()),
			text("c", files[2].String()))
		if got.IDs != int64(n) || got.Duplicates != want || got.Extra != extra ||
			len(got.Workers) != len(perWorker) {
			t.Errorf("%d IDs: %d read, %d duplicates, %d extra; want %d and %d", n, got.IDs, got.Duplicates,
				got.Extra, want, extra)
		}
		for _, w := range got.Workers {
			if w.IDs != perWorker[w.WorkerID] {
				t.Errorf("worker ID %d has %d IDs, want %d", w.WorkerID, w.IDs, perWorker[w.WorkerID])
			}
		}
		for _, c := range got.Clashes {
			if counts[c.ID] != c.Times {
				t.Errorf("%d occurs %d times, want %d", c.ID, c.Times, counts[c.ID])
			}
		}
	}
}

func TestWhatCannotBe(t *testing.T) {
	o := options(t)
	o.Workers, o.Earliest = &WorkerRange{1, 2}, year2026
	good := id(t, 0, 1, 0)
	r := mustCheck(t, o, text("f", lines(good)+"hello\n"+
		lines(id(t, 0, 3, 0), id(t, 0, 0, 0), id(t, 2*time.Hour, 2, 0), id(t, -time.Second, 2, 1))+"\n"))
	if r.IDs != 5 || r.Unreadable != 1 || r.Outside != 2 || r.TooLate != 1 || r.Early != 1 ||
		r.OutOfOrder != 1 || r.Duplicates != 0 {
		t.Errorf("%+v", r)
	}
	for i, want := range []string{"f:2", "f:3", "f:4", "f:5", "f:6", "f:6"} {
		if i >= len(r.Examples) || r.Examples[i].String() != want {
			t.Fatalf("%+v; want number %d at %s", r.Examples, i, want)
		}
	}
	if r.OK(false) || !mustCheck(t, o, text("f", lines(good))).OK(true) {
		t.Error("what is right is wrong, or the other way round")
	}
	small := core.JavaScriptLayout()
	o = options(t)
	o.Layout = &small
	if r := mustCheck(t, o, text("f", lines(good))); r.Outside != 1 {
		t.Errorf("an ID of 63 bits in a layout of 53: %+v", r)
	}
}

// TestGrants: IDs that the coordinator did not grant are reported, if it remembers their time.
func TestGrants(t *testing.T) {
	end := year2026.Add(time.Minute)
	last, after := id(t, time.Minute-time.Millisecond, 1, 0), id(t, time.Minute, 1, 0)
	later, never := id(t, 2*time.Minute, 1, 0), id(t, 10*time.Second, 2, 0)
	file := text("f", lines(last, later, after, after, never))
	granted := map[int]time.Time{1: end}
	for _, tt := range []struct {
		name         string
		grants       Grants
		after, never int64
		examples     string
	}{
		{"all", Grants{Until: granted}, 3, 1, fmt.Sprintf("f:3: the last window of worker ID 1 ended "+
			"at %s; later IDs: 3, the first is %d, stamped at %s\nf:5: worker ID 2 was never granted; "+
			"its IDs: 1, the first is %d, stamped at 2026-06-01T00:00:10Z\n",
			stamp(end), after, stamp(end), never)},
		{"partial", Grants{Until: granted, Partial: true}, 3, 0, ""},
		{"floor", Grants{Until: granted, Floor: end.Add(time.Millisecond)}, 1, 0, ""},
		{"nothing", Grants{}, 0, 5, ""},
	} {
		o := options(t)
		read := false
		file.Open = opened(file.Open, &read)
		o.Grants = func(context.Context) (Grants, error) {
			if !read {
				t.Error("the coordinator was asked before the IDs were read")
			}
			return tt.grants, nil
		}
		r := mustCheck(t, o, file)
		var examples strings.Builder
		for _, e := range r.Examples {
			if e.Kind != KindOrder {
				fmt.Fprintf(&examples, "%v: %s\n", e.Place, e.Text)
			}
		}
		if r.AfterWindow != tt.after || r.NeverGranted != tt.never || r.OK(false) ||
			tt.examples != "" && examples.String() != tt.examples {
			t.Errorf("%s: %d after the last window, %d never granted\n%s\nwant %d, %d\n%s", tt.name,
				r.AfterWindow, r.NeverGranted, &examples, tt.after, tt.never, tt.examples)
		}
	}
}

// opened notes that a source was opened.
func opened(open func() (io.ReadCloser, error), was *bool) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		*was = true
		return open()
	}
}

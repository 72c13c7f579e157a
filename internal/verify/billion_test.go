package verify

import (
	"io"
	"runtime"
	"strconv"
	"testing"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// made is a text of IDs that is made while it is read: those of 64 worker IDs in turn, each in
// order, but for a few that are planted.
type made struct {
	layout  core.Layout
	n, all  int
	planted map[int]core.ID // by number
	buf     []byte
}

// id returns the n-th ID: 100 of each worker ID in each tick.
func (m *made) id(n int) core.ID {
	if v, ok := m.planted[n]; ok {
		return v
	}
	const perTick = 64 * 100
	tick, rest := n/perTick, n%perTick
	return core.ID(int64(tick+1_000_000)<<(m.layout.WorkerBits+m.layout.SequenceBits) | int64(
		rest%64)<<m.layout.SequenceBits | int64(rest/64))
}

func (m *made) Read(b []byte) (int, error) {
	for len(m.buf) < len(b) && m.n < m.all {
		m.buf = append(strconv.AppendInt(m.buf, int64(m.id(m.n)), 10), '\n')
		m.n++
	}
	n := copy(b, m.buf)
	m.buf = m.buf[:copy(m.buf, m.buf[n:])]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestBillion finds planted duplicates among many IDs, in bounded memory: a billion in `make full`.
func TestBillion(t *testing.T) {
	all := fulltest.Rounds(5_000_000, 1_000_000_000)
	memory := fulltest.Rounds(1<<20, 256<<20)
	const most = 16 << 20 // bytes; 5 million IDs alone are 38 MiB
	o := options(t)
	o.Memory = int64(memory)
	m := &made{layout: *o.Layout, all: all}
	m.planted = map[int]core.ID{all - 1: m.id(0), all / 2: m.id(all / 3), all / 4: m.id(all - 2)}
	live, samples := uint64(0), 0
	o.Progress = func(_ string, done, _ int64) {
		if samples++; samples%4 == 0 && all < 1e9 {
			runtime.GC() // what is left is in use; a billion are measured without that
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			live = max(live, s.HeapAlloc)
		}
	}
	source := Source{Name: "made", Size: -1, Open: func() (io.ReadCloser, error) {
		return io.NopCloser(m), nil
	}}
	r := mustCheck(t, o, source)
	if r.IDs != int64(all) || r.Duplicates != 3 || r.Extra != 3 || len(r.Clashes) != 3 ||
		r.Outside+r.TooLate+r.Unreadable != 0 || len(r.Workers) != 64 {
		t.Errorf("%+v", r)
	}
	if r.OutOfOrder != 3 {
		t.Errorf("%d IDs are out of order, want for each planted one itself or the one after it: %+v",
			r.OutOfOrder, r.Examples)
	}
	if samples < 10 || live > most {
		t.Errorf("%d MiB are in use, at most %d are allowed (%d samples)", live>>20, most>>20, samples)
	}
}

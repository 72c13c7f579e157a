package verify

import (
	"io"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// made is a text of IDs that is made while it is read: those of 64 worker IDs in turn, in
// order but for a few that are planted.
type made struct {
	layout  core.Layout
	n, all  int
	planted map[int]core.ID // by number
	buf     []byte
}

func (m *made) id(n int) core.ID {
	if v, ok := m.planted[n]; ok {
		return v
	}
	tick, rest := n/(64*100), n%(64*100)
	return core.ID(int64(tick+1_000_000)<<(m.layout.WorkerBits+m.layout.SequenceBits) | int64(rest%64)<<m.layout.SequenceBits | int64(rest/64))
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

// TestBillion finds planted duplicates among many IDs, in bounded memory.
func TestBillion(t *testing.T) {
	all := fulltest.Rounds(2_000_000, 1_000_000_000)
	memory := int64(fulltest.Rounds(4<<20, 256<<20))
	layout := core.DefaultLayout()
	m := &made{layout: layout, all: all}
	m.planted = map[int]core.ID{all - 1: m.id(0), all / 2: m.id(all / 3), all / 4: m.id(all - 2)}
	o := Options{
		Format: Format{Digits: true}, Layout: &layout, LastWorker: layout.Workers() - 1,
		Latest: year2026, Memory: memory, Temp: t.TempDir(), Shown: 10,
	}
	most := uint64(0)
	o.Sorted = func(done, _ int64) {
		if done>>20%64 == 0 || all < 1<<24 {
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			most = max(most, s.Sys-s.HeapReleased)
		}
	}
	debug.FreeOSMemory()
	began := time.Now()
	r, err := Check(t.Context(), []Source{{Name: "made", Open: func() (io.ReadCloser, error) { return io.NopCloser(m), nil }}}, o)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	t.Logf("%d IDs in %v, %.1f million a second, with %d MiB of memory", all, took.Round(time.Millisecond), float64(all)/took.Seconds()/1e6, most>>20)
	if r.IDs != int64(all) || r.Duplicates != 3 || len(r.Clashes) != 3 || r.OutOfOrder == 0 || r.Outside+r.Late+r.Early+r.Unreadable != 0 || len(r.Workers) != 64 {
		t.Errorf("%+v", r)
	}
	if most > 512<<20 {
		t.Errorf("%d MiB of memory were used", most>>20)
	}
}

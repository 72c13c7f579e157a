package sqlsegmenttest

import (
	"database/sql"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// Pair is two servers, one of which follows the other.
type Pair struct {
	Cut     func()           // what follows has what there is, and hears of nothing more
	Promote func() *Database // the other one dies, and what follows takes over
	Rejoin  func()           // the one that has died follows, with a copy
}

// programs use one tag, and note what they get.
type programs struct {
	ledger numbertest.Ledger
	wire   *Wire
	all    []*segment.Sequence
	mu     sync.Mutex
	top    int64 // the highest number that was used
}

// begin begins a program.
func (p *programs) begin(t *testing.T, d *Database) {
	s, err := segment.New(within(t), d.Open(t, p.wire, 0), "failovers", segment.Config{MaxStep: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(within(t)) })
	p.all = append(p.all, s)
}

// note notes numbers of a program, which rise.
func (p *programs) note(numbers []int64) {
	p.ledger.Note(numbers)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(numbers) > 0 {
		p.top = max(p.top, slices.Max(numbers))
	}
}

// use has the programs use so many numbers together, at once.
func (p *programs) use(t *testing.T, count int) {
	t.Helper()
	var running sync.WaitGroup
	for _, s := range p.all {
		running.Go(func() {
			dst := make([]int64, count/len(p.all)+1)
			n, err := s.Fill(within(t), dst)
			p.note(dst[:n])
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
}

// drain has the programs use all that they have, until they are told that the server is another one.
func (p *programs) drain(t *testing.T) {
	t.Helper()
	dst := make([]int64, 100_000)
	for _, s := range p.all {
		streamtest.Eventually(t, "the other server is noticed", func() bool {
			n, err := s.Fill(within(t), dst)
			p.note(dst[:n])
			return errors.Is(err, segment.ErrStoreChanged)
		})
	}
}

// Failovers has two servers take over from each other, again and again, each time without the last ranges: the first one is back at the second time, with the identity that it
// had. Programs that run and programs that begin take nothing until somebody has advanced the tag, and no number comes twice.
func Failovers(t *testing.T, d *Database, pair Pair) {
	rounds, numbers := fulltest.Rounds(2, 20), fulltest.Rounds(100_000, 5_000_000)
	d.create(t, "failovers", 1000)
	p := &programs{wire: (&Wire{}).To(d.Addr)}
	defer p.ledger.Check(t)
	for range 3 {
		p.begin(t, d)
	}
	for round := range rounds {
		p.use(t, numbers/2)
		pair.Cut()
		p.use(t, numbers/2)
		d = pair.Promote()
		p.wire.To(d.Addr)
		if r, err := d.Open(t, &Wire{}, 0).Take(within(t), "failovers", 10); !errors.Is(err, segment.ErrStoreChanged) {
			t.Errorf("round %d: a program that begins after the failover takes %v, %v; used are numbers up to %d", round, r, err, p.top)
		}
		p.drain(t)
		if err := d.Open(t, &Wire{}, 0).Advance(within(t), "failovers", p.top+1); err != nil {
			t.Fatal(err)
		}
		p.begin(t, d)
		pair.Rejoin()
	}
	p.use(t, numbers/2)
}

// CaughtUp waits until a server that follows another one has what that one has.
func CaughtUp(t *testing.T, first, follower *sql.DB) {
	t.Helper()
	highest := func(pool *sql.DB) (n int64) {
		if pool.QueryRowContext(within(t), "SELECT max_id FROM leaf_alloc WHERE biz_tag = 'failovers'").Scan(&n) != nil {
			return 0
		}
		return n
	}
	streamtest.Eventually(t, "the other server has what there is", func() bool {
		n := highest(follower)
		return n > 0 && n == highest(first)
	})
}

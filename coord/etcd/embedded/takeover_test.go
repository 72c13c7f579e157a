package embedded

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
)

// collector takes the IDs that children print.
type collector struct {
	mu   sync.Mutex
	ids  map[int64]bool
	last map[int]int // how many each child has printed, by process
}

// collect reads what a child prints to its end. Failed IDs end a child, which a
// test notices by Done.
func (l *collector) collect(t *testing.T, c *drivertest.Child) {
	for c.Lines.Scan() {
		id, err := strconv.ParseInt(c.Lines.Text(), 10, 64)
		l.mu.Lock()
		if err == nil && l.ids[id] {
			t.Errorf("ID %d came twice", id)
		}
		if err == nil {
			l.ids[id] = true
			l.last[c.PID()]++
		}
		l.mu.Unlock()
	}
}

// printed tells how many IDs a child has printed.
func (l *collector) printed(c *drivertest.Child) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[c.PID()]
}

// TestTakeover: kill -9 of the process that runs the server, several times, with
// generators running in others: no Next fails, and no ID comes twice.
func TestTakeover(t *testing.T) {
	t.Parallel()
	dir, rounds := newDir(t), 5
	f := folder{dir}
	l := collector{ids: map[int64]bool{}, last: map[int]int{}}
	var readers sync.WaitGroup
	begin := func() *drivertest.Child {
		c := startChild(t, dir, "many")
		readers.Go(func() { l.collect(t, c) })
		eventually(t, "a child prints IDs", func() bool { return l.printed(c) > 10 })
		return c
	}
	children := []*drivertest.Child{begin(), begin(), begin()}
	watch := openFolder(t, dir, "children", nil)
	var took []time.Duration
	for range rounds {
		before := f.readPost()
		if before == nil {
			t.Fatal("nobody says where the server is")
		}
		i := slices.IndexFunc(children, func(c *drivertest.Child) bool { return c.PID() == before.PID })
		killed := time.Now()
		if i < 0 { // it is this process
			if err := watch.Close(); err != nil {
				t.Fatal(err)
			}
			watch = openFolder(t, dir, "children", nil)
		} else {
			children[i].Kill()
			eventually(t, "somebody takes the folder over", func() bool { p := f.readPost(); return p != nil && *p != *before })
			took = append(took, time.Since(killed))
			children = slices.Delete(children, i, i+1)
			children = append(children, begin())
		}
		// Everybody follows: each renews, and goes on issuing.
		moment := time.Now()
		eventually(t, "all renew with the new server", func() bool {
			slots, err := watch.List(within(t))
			if err != nil {
				return false
			}
			renewed := 0
			for _, s := range slots {
				if s.Renewed.After(moment) {
					renewed++
				}
			}
			return renewed >= len(children)
		})
		for _, c := range children {
			n := l.printed(c)
			eventually(t, "a child goes on", func() bool { return l.printed(c) > n+10 })
		}
	}
	for _, c := range children {
		select {
		case <-c.Done():
			t.Errorf("process %d ended by itself", c.PID())
		default:
		}
		c.Kill()
	}
	readers.Wait()
	slices.Sort(took)
	t.Logf("taken over after %v; %d IDs, none twice", took, len(l.ids))
}

// TestClose: the host closes in good order, here and in a process of its own, and
// those who joined take over.
func TestClose(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	host := startChild(t, dir, "stay")
	addresses := []string{host.Line(t)}
	first, second := openFolder(t, dir, "n", nil), openFolder(t, dir, "n", nil)
	g := mustAcquire(t, second, request(1))
	second.Lost(g) // its watch is open when the server ends
	if address(first) != addresses[0] || address(second) != addresses[0] {
		t.Fatal("a coordinator did not join")
	}
	if err := host.In.Close(); err != nil {
		t.Fatal(err)
	}
	<-host.Done()
	eventually(t, "one of two takes over", func() bool {
		a := address(first)
		return a != "" && a != addresses[0] && a == address(second)
	})
	// In this process, the two are as independent as if they were in two.
	addresses = append(addresses, address(first))
	closing, staying := first, second
	if p := (folder{dir}).readPost(); p == nil || p.Address != addresses[1] {
		t.Fatalf("the folder says %+v; the server is at %s", p, addresses[1])
	}
	if err := closing.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := staying.Renew(within(t), g, g.NotAfter+1000)
	if err != nil || r.Generation != g.Generation || r.NotAfter != g.NotAfter+1000 || r.NotBefore != g.NotBefore {
		t.Errorf("renewed to %v, %v; want more of %v", r, err, g)
	}
}

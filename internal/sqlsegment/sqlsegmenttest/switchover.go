package sqlsegmenttest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/segment"
)

// Replicated is a server with a replica that can take its place.
type Replicated struct {
	*Database
	// Again connects to the server once more.
	Again func(tb testing.TB) *Database
	// Freeze makes the server read-only, as an operator does.
	Freeze func()
	// Promote has the replica take over when it has what the server has written.
	Promote func() *Database
	// URL is that of a store on the server at an address, for the user ann.
	URL func(addr string) string
	// Limit bounds the connections of ann.
	Limit func(n int) string
}

// open opens a store with the URL of an address.
func (r Replicated) open(d *Database, addr string) segment.Store {
	d.Helper()
	s, err := segment.Open(d.Within(), r.URL(addr), segment.OpenOptions{})
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { _ = s.Close() })
	return s
}

// SwitchOver is planned: the operator freezes the server, promotes the replica, and has the name
// lead there. A program that runs takes nothing from the frozen server, and finds the new one
// without being told.
func SwitchOver(r Replicated) {
	r.Create("switch", 1)
	p := proxytest.Start(r, r.Addr)
	s := r.open(r.Database, p.Addr)
	r.WantTake(s, "switch", 1)
	r.Freeze()
	streamtest.Eventually(r, "the server is frozen", func() bool {
		_, err := s.Take(r.Within(), "switch", 10)
		return err != nil
	})
	frozen := r.Next("switch")
	for range 3 {
		if _, err := s.Take(r.Within(), "switch", 10); !strings.Contains(fmt.Sprint(err), "read-only") {
			r.Errorf("Take from a frozen server: %v", err)
		}
	}
	there := r.Promote()
	p.Lead(there.Addr)
	r.WantRefused(s, "switch", segment.ErrStoreChanged, "")
	next := there.Next("switch")
	there.raise(1000)
	r.WantTake(s, "switch", next+1000)
	if n := r.Next("switch"); n != frozen {
		r.Errorf("max_id on the frozen server went from %d to %d", frozen, n)
	}
}

// Moved has a name lead to a replica that was promoted while the server goes on, with the default
// times: a program that has a connection to the server takes nothing there once the connection has
// reached its greatest age. It keeps the connection while no other one can be opened.
func Moved(t *testing.T, r Replicated) {
	r.Create("moved", 1)
	r.Do(r.Limit(1))
	there := r.Promote()
	p := proxytest.Start(r, r.Addr)
	synctest.Test(t, func(t *testing.T) {
		d := r.Again(t)
		s := r.open(d, p.Addr)
		first := int64(1)
		for range 3 {
			d.WantTake(s, "moved", first)
			time.Sleep(lifetime.MaxAge)
			first += 10
		}
		made := p.Connections()
		d.Do(r.Limit(0))
		time.Sleep(lifetime.MaxAge)
		d.WantTake(s, "moved", first)
		if n := p.Connections(); n != made+1 {
			d.Errorf("%d connections were made when ann may have two; want one", n-made)
		}
		p.Lead(there.Addr)
		time.Sleep(lifetime.MaxAge)
		d.WantRefused(s, "moved", segment.ErrStoreChanged, "")
	})
	if n := r.Next("moved"); n != 41 {
		r.Errorf("max_id on the server that was left is %d; want 41", n)
	}
}

package sqltest

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/sqlstore"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

const (
	// starters is how many newcomers start.
	starters = 4
	// startLimit is how long newcomers may take until they issue: the floor, and the time until the
	// last holder has noticed the loss.
	startLimit = 4 * time.Minute
	// pace is how often a generator issues an ID.
	pace = 20 * time.Millisecond
)

// CutOff deletes namespaces whose holders issue IDs, one of them cut off from the database at addr,
// and has newcomers start at the same moment. No ID may come twice until the newcomers have issued
// for a minute, in the full length, or for ten seconds.
func CutOff(t *testing.T, d *Database, addr string,
	connect func(tb testing.TB, addr string, conns int) sqlstore.Database,
) {
	fulltest.Long(t, "newcomers wait until all windows are over that may be lost")
	var fleets []*fleet
	for _, deletion := range []string{"Rows", "TruncatedAll"} {
		for ttl, horizon := range map[time.Duration]time.Duration{
			15 * time.Second: 0,                   // the default
			45 * time.Second: sqlstore.MaxHorizon, // of the holder that is cut off
		} {
			for range fulltest.Rounds(1, 5) {
				f := &fleet{name: deletion + ", TTL " + ttl.String()}
				f.Database, f.ns = d.withTables(t)
				p := proxytest.Start(t, addr)
				far := *d
				far.Prefix, far.DB = f.Prefix, connect(t, p.Addr, 1)
				f.lease = coord.LeaseConfig{TTL: ttl, WorkerIDs: coord.Range{Count: starters + 1}}
				f.generate(f.Database, 0)
				f.lost = f.generate(&far, horizon)
				f.await(f.all)
				f.cut, f.restore = p.Hang, p.Restore
				f.delete = func() { f.deletes(deletions[deletion], f.ns) }
				fleets = append(fleets, f)
			}
		}
	}
	for _, f := range fleets {
		f.cut()
		f.delete()
		f.before = f.lost.count()
		for range starters {
			f.newcomers = append(f.newcomers, f.generate(f.Database, 0))
		}
	}
	for _, f := range fleets {
		f.await(f.newcomers)
		f.during = f.lost.count() - f.before
		f.restore()
	}
	for _, f := range fleets {
		f.watch(time.Duration(fulltest.Rounds(10, 60)) * time.Second)
		f.check()
	}
}

// fleet is the generators of a namespace.
type fleet struct {
	*Database
	name, ns             string
	lease                coord.LeaseConfig
	all, newcomers       []*issuer
	lost                 *issuer // which is cut off
	before, during       int     // how many IDs it has issued before the deletion, and then
	cut, delete, restore func()
}

// issuer is what a generator has issued.
type issuer struct {
	mu  sync.Mutex
	ids []core.ID
}

func (i *issuer) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.ids)
}

// layout has ticks in which two holders of one worker ID meet often.
func (f *fleet) layout() core.Layout {
	return core.Layout{
		Epoch: core.DefaultLayout().Epoch, Unit: pace, TimeBits: 41, WorkerBits: 10, SequenceBits: 8,
	}
}

// generate starts a generator that issues IDs until the test ends.
func (f *fleet) generate(d *Database, horizon time.Duration) *issuer {
	f.Helper()
	lease := f.lease
	lease.Horizon = horizon
	quiet := *d
	quiet.Logger = slog.New(slog.DiscardHandler)
	g, err := core.Start(quiet.New(f.ns), core.Config{
		Layout: f.layout(), Logger: quiet.Logger, Lease: lease,
	})
	if err != nil {
		f.Fatal(err)
	}
	var i issuer
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(pace)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if id, err := g.NextContext(ctx); err == nil {
				i.mu.Lock()
				i.ids = append(i.ids, id)
				i.mu.Unlock()
			}
		}
	}()
	f.Cleanup(func() {
		stop()
		<-ended
		ctx, cancel := context.WithTimeout(context.Background(), streamtest.CallTime)
		defer cancel()
		_ = g.Close(ctx) // the holder that was cut off may have lost its worker ID
	})
	f.all = append(f.all, &i)
	return &i
}

// await waits until each of some issuers has issued since now.
func (f *fleet) await(all []*issuer) {
	f.Helper()
	for _, i := range all {
		n := i.count()
		proctest.Eventually(f, startLimit, f.name+": a generator issues IDs", func() bool {
			return i.count() > n
		})
	}
}

// watch lets the newcomers issue as many IDs as they do in a time. One of them may have to wait:
// with the holder that comes back, there is a generator more than there are worker IDs.
func (f *fleet) watch(d time.Duration) {
	f.Helper()
	proctest.Eventually(f, startLimit, f.name+": newcomers issue IDs", func() bool {
		n := 0
		for _, i := range f.newcomers {
			n += i.count()
		}
		return n >= starters*int(d/pace)
	})
}

// check fails the test if two IDs are equal.
func (f *fleet) check() {
	f.Helper()
	var ids []core.ID
	for _, i := range f.all {
		i.mu.Lock()
		ids = append(ids, i.ids...)
		i.mu.Unlock()
	}
	slices.SortFunc(ids, cmp.Compare[core.ID])
	all := len(ids)
	if twice := all - len(slices.Compact(ids)); twice > 0 {
		f.Errorf("%s: %d of %d IDs were issued twice", f.name, twice, all)
	}
	if f.during == 0 {
		f.Errorf("%s: the holder that was cut off has issued nothing after the deletion", f.name)
	}
	f.Logf("%s: %d IDs, and %d by the holder that was cut off after the deletion", f.name, all,
		f.during)
}

package starters

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// backends start servers and return the URL of a new namespace; options go behind it.
var backends = map[string]func(*testing.T) string{
	"etcd": func(t *testing.T) string {
		return "etcd://" + strings.Join(etcdtest.StartCluster(t, 3).Endpoints(), ",") + "/" + rand.Text() + "?"
	},
	"redis": func(t *testing.T) string {
		return "redis://" + redistest.Start(t, redistest.Options{}).Addr + "/0?namespace=" + rand.Text() + "&"
	},
	"zk": func(t *testing.T) string {
		return "zk://" + zktest.Start(t, zktest.Options{}).Addr + "/?namespace=" + rand.Text() + "&"
	},
	"postgres": func(t *testing.T) string {
		return pgtest.Start(t).URL() + "?accept=fsync&namespace=" + rand.Text() + "&"
	},
	"mysql": func(t *testing.T) string {
		return "mysql://" + mysqltest.User + ":" + mysqltest.Password + "@" + mysqltest.Start(t).Addr() + "/" + mysqltest.Database + "?namespace=" + rand.Text() + "&"
	},
}

func TestStarters(t *testing.T) {
	fulltest.Long(t, "24 servers, programs that start")
	all := fulltest.Rounds(64, 1024)
	for _, backend := range []string{"etcd", "redis", "zk", "postgres", "mysql"} {
		for _, ttl := range []string{"15s", "5s"} {
			for _, processes := range []int{1, fulltest.Rounds(4, 16)} {
				t.Run(backend+"/ttl="+ttl+"/processes="+map[bool]string{true: "one", false: "many"}[processes == 1], func(t *testing.T) {
					crowd(t, backends[backend](t)+"ttl="+ttl, all, processes)
				})
			}
		}
	}
}

// crowd starts as many generators as there are worker IDs, and one more.
func crowd(t *testing.T, url string, all, processes int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	c, err := coord.Open(ctx, url, coord.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.(coord.Admin).Init(ctx, core.DefaultLayout().Space()); err != nil {
		t.Fatal(err)
	}
	for range fulltest.Rounds(0, 2) {
		startBusy(t)
	}
	var children []*child
	for range processes {
		children = append(children, startChild(t, url, all/processes, all))
	}
	var results []started
	for _, c := range children {
		results = append(results, c.results(t)...)
	}
	workers := map[int]bool{}
	tries := 0
	for _, s := range results {
		if workers[s.Worker] {
			t.Errorf("worker ID %d is held twice", s.Worker)
		}
		workers[s.Worker], tries = true, max(tries, s.Tries)
	}
	slices.SortFunc(results, func(a, b started) int { return int(a.Took - b.Took) })
	t.Logf("%d starters in %d processes: half of them after %v, all after %v, with at most %d calls of New", len(results), processes, results[len(results)/2].Took, results[len(results)-1].Took, tries)

	began := time.Now()
	var g *core.Generator
	for { // a back end that is busy may not answer in time
		g, err = core.New(ctx, c, core.Config{StartTimeout: time.Second, Lease: coord.LeaseConfig{WorkerIDs: coord.Range{Count: all}}})
		if err == nil || errors.Is(err, coord.ErrNoWorkerID) || ctx.Err() != nil {
			break
		}
	}
	if !errors.Is(err, coord.ErrNoWorkerID) {
		t.Errorf("one more was given %v, %v; want %v", g, err, coord.ErrNoWorkerID)
	}
	t.Logf("one more: refused after %v: %v", time.Since(began), err)
}

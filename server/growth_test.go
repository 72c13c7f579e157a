package server_test

import (
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
)

// inUse returns how much memory is in use.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestNoGrowth: under full load, for five minutes in full length, the memory in use at the end is
// that of the beginning.
func TestNoGrowth(t *testing.T) {
	const tenths, samples, slack = 10, 5, 1 << 20
	each := time.Duration(fulltest.Rounds(50, 30_000)) * time.Millisecond
	r := serve(t, nil)
	transport := &http.Transport{MaxIdleConnsPerHost: 32}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var stop atomic.Bool
	var answered atomic.Int64
	var load sync.WaitGroup
	for i := range 16 {
		path := []string{
			"/v1/generators/orders/ids", "/v1/generators/orders/ids?count=1000",
			"/v1/sequences/a%2Fb/numbers", "/v1/generators/none/ids",
		}[i%4]
		load.Go(func() {
			for !stop.Load() {
				resp, err := client.Get(r.http.URL + path)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body) // what it is does not matter here
				_ = resp.Body.Close()
				answered.Add(1)
			}
		})
	}
	defer load.Wait()
	defer stop.Store(true)
	tick := time.NewTicker(each / samples)
	defer tick.Stop()
	var medians []uint64
	for range tenths + 1 { // the first one lets it warm up
		var seen []uint64
		for range samples {
			<-tick.C
			seen = append(seen, inUse())
		}
		slices.Sort(seen)
		medians = append(medians, seen[samples/2])
	}
	first, last := medians[1], medians[tenths]
	t.Logf("%d requests; %d KiB in use in the first tenth, %d in the last", answered.Load(),
		first>>10, last>>10)
	if last > first+first/10+slack {
		t.Errorf("%d bytes are in use in the last tenth; in the first it was %d", last, first)
	}
}

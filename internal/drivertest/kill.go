package drivertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// holderURL is set for a process that is to be a holder.
const holderURL = "UNALIKE_TEST_HOLDER_URL"

// StartHolder starts a process that holds the only worker ID there is and prints its
// IDs. The TestMain of its program calls HolderMain.
func StartHolder(tb testing.TB, url string) *Child {
	tb.Helper()
	return StartChild(tb, holderURL+"="+url)
}

// HolderMain is a holder, if the process was started to be one. It does not return then.
func HolderMain() {
	url, ok := os.LookupEnv(holderURL)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*CallTime)
	c, err := coord.Open(ctx, url, coord.OpenOptions{})
	if err == nil {
		err = PrintIDs(ctx, c, time.Microsecond, Patient(ctx), coord.LeaseConfig{WorkerIDs: coord.Range{Count: 1}})
	}
	cancel()
	fmt.Fprintln(os.Stderr, "holder:", err)
	os.Exit(1)
}

// Patient takes IDs and waits for them, where a window is short for a slow machine.
func Patient(ctx context.Context) func(*core.Generator) (core.ID, error) {
	return func(g *core.Generator) (core.ID, error) { return g.NextContext(ctx) }
}

// PrintIDs prints IDs at a pace until next has none, and says why. It waits for a worker
// ID for as long as another one holds it, and tries for longer than the TTL, which is
// short for a machine that is slow.
func PrintIDs(ctx context.Context, c coord.Coordinator, pace time.Duration, next func(*core.Generator) (core.ID, error), lease coord.LeaseConfig) error {
	g, err := core.New(ctx, c, core.Config{Lease: lease})
	for err != nil && (errors.Is(err, coord.ErrNoWorkerID) || !coord.Permanent(err)) && ctx.Err() == nil {
		pause := time.NewTimer(20 * time.Millisecond)
		<-pause.C
		g, err = core.New(ctx, c, core.Config{Lease: lease})
	}
	if err != nil {
		return err
	}
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for range ticker.C {
		id, err := next(g)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(os.Stdout, int64(id)); err != nil {
			return err
		}
	}
	return nil
}

// Kill starts a holder of the only worker ID there is, kills it with kill -9 after
// a thousand IDs, and starts another one: every ID lies above all IDs before.
func Kill(t *testing.T, rounds int, start func() *Child) {
	t.Helper()
	const enough = 1000
	var highest int64
	total := 0
	for round := range rounds {
		began := time.Now()
		c := start()
		n := 0
		var first time.Duration
		for c.Lines.Scan() {
			id, err := strconv.ParseInt(c.Lines.Text(), 10, 64)
			if err != nil {
				break // the last line may be cut
			}
			if id <= highest {
				t.Fatalf("round %d: ID %d is not above %d", round, id, highest)
			}
			highest = id
			if n++; n == 1 {
				first = time.Since(began)
			}
			if n == enough {
				c.Kill() // what it has printed is read to its end
			}
		}
		if n < enough {
			t.Fatalf("round %d: the holder ended after %d IDs", round, n)
		}
		total += n
		t.Logf("round %d: first ID after %v, %d IDs", round, first, n)
	}
	t.Logf("%d IDs, each above all before", total)
}

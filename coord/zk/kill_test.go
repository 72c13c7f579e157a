package zk_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// The environment of a process that is to be a holder: the test binary, started
// again.
const (
	holderServer    = "UNALIKE_TEST_ZK_HOLDER_SERVER"
	holderNamespace = "UNALIKE_TEST_ZK_HOLDER_NAMESPACE"
)

func TestMain(m *testing.M) {
	if server, ok := os.LookupEnv(holderServer); ok {
		if err := hold(server, os.Getenv(holderNamespace)); err != nil {
			fmt.Fprintln(os.Stderr, "holder:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// hold prints IDs until it cannot any more. It waits for a worker ID for as long as
// another one holds it, and tries for longer than the TTL, which is short for a machine
// that is slow.
func hold(server, namespace string) error {
	c, err := zk.New([]string{server}, namespace, nil)
	if err != nil {
		return err
	}
	cfg := core.Config{Lease: coord.LeaseConfig{
		TTL: time.Second, Horizon: 2 * time.Second, RenewEvery: 300 * time.Millisecond,
		WorkerIDs: coord.Range{Count: 1},
	}}
	ctx, cancel := context.WithTimeout(context.Background(), 2*callTime)
	defer cancel()
	g, err := core.New(ctx, c, cfg)
	for err != nil && (errors.Is(err, coord.ErrNoWorkerID) || !coord.Permanent(err)) && ctx.Err() == nil {
		pause := time.NewTimer(20 * time.Millisecond)
		<-pause.C
		g, err = core.New(ctx, c, cfg)
	}
	if err != nil {
		return err
	}
	for {
		id, err := g.NextContext(ctx) // the window is short for a machine that is slow
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(os.Stdout, int64(id)); err != nil {
			return err
		}
	}
}

// TestKill: in a namespace with one worker ID, kill -9 of the holder and start of
// another process; every ID lies above all IDs before, four times.
func TestKill(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	ns := rand.Text()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var highest int64
	total := 0
	for round := range 4 {
		began := time.Now()
		cmd := exec.CommandContext(t.Context(), exe) // killed when the test ends
		cmd.Env = append(os.Environ(), holderServer+"="+server.Addr, holderNamespace+"="+ns)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		n := 0
		var first time.Duration
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var id int64
			if _, err := fmt.Sscan(lines.Text(), &id); err != nil {
				break // the last line may be cut
			}
			if id <= highest {
				t.Fatalf("round %d: ID %d is not above %d", round, id, highest)
			}
			highest = id
			if n++; n == 1 {
				first = time.Since(began)
			}
			if n == 1000 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				// What the holder has printed is read to its end.
			}
		}
		if err := cmd.Wait(); err == nil || n < 1000 {
			t.Fatalf("round %d: the holder ended after %d IDs: %v", round, n, err)
		}
		total += n
		t.Logf("round %d: first ID after %v, %d IDs", round, first, n)
	}
	t.Logf("%d IDs, each above all before", total)
}

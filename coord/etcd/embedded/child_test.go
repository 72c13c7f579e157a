package embedded

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// The environment of a child process: the test binary, started again to use a folder.
const (
	childDir  = "UNALIKE_TEST_CHILD_DIR"  // set: be a child
	childWork = "UNALIKE_TEST_CHILD_WORK" // what to do there, see works
	childWeak = "UNALIKE_TEST_CHILD_WEAK" // not empty: give up the rights of root
)

// works are what a child can do with the folder's coordinator.
var works = map[string]func(context.Context, *Coordinator) error{
	// The child prints where the server is, and stays until it is killed or its input
	// ends.
	"stay": func(_ context.Context, c *Coordinator) error {
		fmt.Println(address(c))
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	},
	// The child prints IDs of the only worker ID there is. The TTL is short, because
	// the next one waits for it, and the child waits where that is too short for its
	// machine.
	"only": func(ctx context.Context, c *Coordinator) error {
		patient := func(g *core.Generator) (core.ID, error) { return g.NextContext(ctx) }
		return printIDs(ctx, c, time.NewTicker(time.Microsecond), patient, coord.LeaseConfig{
			TTL: 2 * time.Second, Horizon: 2 * time.Second, RenewEvery: 500 * time.Millisecond, WorkerIDs: coord.Range{Count: 1},
		})
	},
	// The child prints one ID of each of two worker IDs, and stays until it is killed.
	"stripes": func(ctx context.Context, c *Coordinator) error {
		g, err := core.New(ctx, c, core.Config{Stripes: 2})
		if err != nil {
			return err
		}
		fmt.Println(g.Health().Healthy)
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	},
	// The child prints IDs, at a pace that leaves the machine to others, with the
	// default times but for renewals, so that some fall into every outage.
	"many": func(ctx context.Context, c *Coordinator) error {
		return printIDs(ctx, c, time.NewTicker(5*time.Millisecond), (*core.Generator).Next, coord.LeaseConfig{RenewEvery: 100 * time.Millisecond})
	},
}

// childMain is a child, if the process was started to be one.
func childMain() {
	dir, ok := os.LookupEnv(childDir)
	if !ok {
		return
	}
	if err := beChild(dir); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func beChild(dir string) error {
	if os.Getenv(childWeak) != "" {
		if err := becomeNobody(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*callTime)
	defer cancel()
	c, err := New(ctx, dir, "children", nil)
	if err != nil {
		return err
	}
	return errors.Join(works[os.Getenv(childWork)](ctx, c), c.Close())
}

// printIDs prints IDs until next has none. It waits for a worker ID for as long as
// another one holds it, and tries for longer than the TTL, which is short for a machine
// that is slow.
func printIDs(ctx context.Context, c *Coordinator, pace *time.Ticker, next func(*core.Generator) (core.ID, error), lease coord.LeaseConfig) error {
	g, err := core.New(ctx, c, core.Config{Lease: lease})
	for err != nil && (errors.Is(err, coord.ErrNoWorkerID) || !coord.Permanent(err)) && ctx.Err() == nil {
		pause := time.NewTimer(20 * time.Millisecond)
		<-pause.C
		g, err = core.New(ctx, c, core.Config{Lease: lease})
	}
	if err != nil {
		return err
	}
	for range pace.C {
		id, err := next(g)
		if err != nil {
			return err
		}
		if _, err := fmt.Println(int64(id)); err != nil {
			return err
		}
	}
	return nil
}

// child is a child process.
type child struct {
	*proctest.Process
	in    io.WriteCloser
	lines *bufio.Scanner
}

// startChild starts a child with something to do in a folder.
func startChild(tb testing.TB, dir, work string, env ...string) *child {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.CommandContext(tb.Context(), exe)
	cmd.Env = append(append(os.Environ(), childDir+"="+dir, childWork+"="+work), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	// Not StdoutPipe: what a killed child has printed is read to its end.
	out, w, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = out.Close() })
	cmd.Stdout = w
	p := proctest.Start(tb, cmd)
	_ = w.Close()
	return &child{Process: p, in: in, lines: bufio.NewScanner(out)}
}

// line returns the next line that the child printed; it must print one.
func (c *child) line(tb testing.TB) string {
	tb.Helper()
	if !c.lines.Scan() {
		tb.Fatalf("the child ended: %v", c.lines.Err())
	}
	return c.lines.Text()
}

package starters

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	_ "github.com/unalike-id/unalike/coord/etcd"
	_ "github.com/unalike-id/unalike/coord/mysql"
	_ "github.com/unalike-id/unalike/coord/postgres"
	_ "github.com/unalike-id/unalike/coord/redis"
	_ "github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/internal/testserver/proctest"
)

// Variables that make this test program another one.
const (
	envURL  = "UNALIKE_TEST_STARTERS_URL"  // start generators at this coordinator
	envN    = "UNALIKE_TEST_STARTERS_N"    // so many
	envAll  = "UNALIKE_TEST_STARTERS_ALL"  // on so many worker IDs
	envBusy = "UNALIKE_TEST_STARTERS_BUSY" // keep a processor busy
)

// busy is what a process that keeps a processor busy counts.
var busy atomic.Uint64

func TestMain(m *testing.M) {
	etcdtest.Main()
	if os.Getenv(envBusy) != "" {
		for n := uint64(1); ; n++ { // it is ended by whoever has started it
			busy.Store(n)
		}
	}
	if url := os.Getenv(envURL); url != "" {
		if err := serve(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leaktest.Main(m)
}

// started is what became of one start.
type started struct {
	Worker int           `json:"worker"`
	Took   time.Duration `json:"took"` // until the first ID
	Tries  int           `json:"tries"`
}

// serve starts generators, prints what became of them, and keeps them until the standard
// input ends.
func serve(url string) error {
	n, err := strconv.Atoi(os.Getenv(envN))
	if err != nil {
		return err
	}
	all, err := strconv.Atoi(os.Getenv(envAll))
	if err != nil {
		return err
	}
	c, err := coord.Open(context.Background(), url, coord.OpenOptions{})
	if err != nil {
		return err
	}
	results := make([]started, n)
	errs := make([]error, n)
	generators := make([]*core.Generator, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { generators[i], results[i], errs[i] = start(c, all) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(results); err != nil {
		return err
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until the parent has seen all
	return nil
}

// start starts one generator, as often as it takes, and takes an ID.
func start(c coord.Coordinator, all int) (g *core.Generator, s started, err error) {
	began := time.Now()
	for {
		s.Tries++
		g, err = core.New(context.Background(), c, core.Config{Lease: coord.LeaseConfig{WorkerIDs: coord.Range{Count: all}}})
		if err == nil {
			break
		}
		if coord.Permanent(err) {
			return nil, s, err
		}
	}
	id, err := g.NextContext(context.Background())
	s.Worker, s.Took = core.DefaultLayout().Decompose(id).WorkerID, time.Since(began)
	return g, s, err
}

// child is a process with generators.
type child struct {
	process *proctest.Process
	out     *bufio.Reader
}

// startChild starts a process with n generators on as many as all worker IDs.
func startChild(t *testing.T, url string, n, all int) *child {
	t.Helper()
	cmd := again(t, envURL+"="+url, envN+"="+strconv.Itoa(n), envAll+"="+strconv.Itoa(all))
	if _, err := cmd.StdinPipe(); err != nil { // ends with this process
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	return &child{proctest.Start(t, cmd), bufio.NewReader(out)}
}

// results waits until all generators of the process have started.
func (c *child) results(t *testing.T) []started {
	t.Helper()
	var s []started
	if err := json.NewDecoder(c.out).Decode(&s); err != nil {
		t.Fatalf("a process with generators has failed: %v", err)
	}
	return s
}

// startBusy starts a process that keeps a processor busy until the test ends.
func startBusy(t *testing.T) {
	t.Helper()
	proctest.Start(t, again(t, envBusy+"=1"))
}

// again is this program with other variables.
func again(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

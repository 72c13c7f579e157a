package static

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/safetytest"
)

// childState is set for a process that holds worker ID 7 of a state file until its input ends.
const childState = "UNALIKE_TEST_CHILD_STATE"

func TestMain(m *testing.M) {
	state := os.Getenv(childState)
	if state == "" {
		leaktest.Main(m)
	}
	c, err := New(7, Options{Namespace: "n", State: state, AcceptFresh: true, Clock: at(1000)})
	if err == nil {
		var g coord.Grant
		g, err = c.Acquire(context.Background(), request("a", 1000))
		fmt.Println(g.NotAfter)
	}
	fmt.Println(err)
	_, _ = os.Stdin.Read(make([]byte, 1))
}

// TestLockedByAnotherProcess: the refusal names the process that has the worker ID. The lock is no
// stronger than that, and another worker ID of the file is no obstacle.
func TestLockedByAnotherProcess(t *testing.T) {
	path := stateFile(t)
	p := drivertest.StartChild(t, childState+"="+path)
	end := p.Line(t)
	o := Options{Namespace: "n", State: path}
	_, err := open(t, o).Acquire(t.Context(), request("b", 1000))
	refused(t, err, coord.ErrNoWorkerID,
		lockPath(path, 7)+fmt.Sprintf(" is locked by process %d", p.PID()),
		"; stop it or give this process another worker ID")
	o.Count = 2
	if g := acquire(t, open(t, o), request("c", 1000)); g.WorkerID != 8 {
		t.Errorf("granted was %v; want worker ID 8", g)
	}
	p.Kill()
	<-p.Done()
	o.Count = 1
	if g := acquire(t, open(t, o), request("d", 1000)); fmt.Sprint(g.NotBefore) != end ||
		g.Generation != 2 {
		safetytest.Of(t).Errorf("granted was %v; want it to begin at %s", g, end)
	}
}

package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/unalike-id/unalike/coord/static"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/core/coretest"
)

// The usual life of a generator: lease, issue, give back.
func ExampleNew() {
	issueOne := func(ctx context.Context, stateFile string) (err error) {
		// AcceptFresh says that this worker ID was never used before, so there is no
		// earlier window to wait out.
		c, err := static.New(7, static.Options{State: stateFile, AcceptFresh: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.Close()) }()
		g, err := core.New(ctx, c, core.Config{})
		if err != nil {
			return err
		}
		defer func() {
			// If ctx is what makes the program stop, it has ended when it gets here.
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			err = errors.Join(err, g.Close(last))
		}()

		id, err := g.Next()
		if err != nil {
			return err
		}
		fmt.Println(core.DefaultLayout().Decompose(id).WorkerID)
		return nil
	}

	dir, err := os.MkdirTemp("", "unalike")
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(issueOne(context.Background(), filepath.Join(dir, "state")),
		os.RemoveAll(dir)); err != nil {
		log.Fatal(err)
	}
	// Output: 7
}

func ExampleGenerator_Next() {
	g := coretest.New(example)
	for range 3 {
		id, err := g.Next()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id, id.Base62())
	}
	// Output:
	// 132815152742404096 09oIHF9KWPY
	// 132815152742404097 09oIHF9KWPZ
	// 132815152742404098 09oIHF9KWPa
}

// Next tells a clock that was set back from other errors. The generator heals by
// itself, so a service answers "try again" and goes on.
func ExampleClockRollbackError() {
	err := error(&core.ClockRollbackError{
		WorkerID:  7,
		Last:      time.Date(2025, 1, 1, 12, 0, 10, 0, time.UTC),
		Now:       time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC),
		Tolerance: 5 * time.Millisecond,
	})
	if back := (*core.ClockRollbackError)(nil); errors.As(err, &back) {
		fmt.Println("the clock was set back by", back.Last.Sub(back.Now))
	}
	// Output: the clock was set back by 10s
}

func ExampleGenerator_Fill() {
	g := coretest.New(example)
	batch := make([]core.ID, 5000)
	n, err := g.Fill(context.Background(), batch)
	fmt.Println(n, err, batch[0], batch[n-1])
	// Output: 5000 <nil> 132815152742404096 132815152746599303
}

func ExampleGenerator_All() {
	g := coretest.New(example)
	for id, err := range g.All(context.Background()) {
		if err != nil || id == coretest.First+3 {
			break
		}
		fmt.Println(id)
	}
	// Output:
	// 132815152742404096
	// 132815152742404097
	// 132815152742404098
}

func ExampleGenerator_Health() {
	g := coretest.New(example)
	if _, err := g.Next(); err != nil {
		log.Fatal(err)
	}
	h := g.Health()
	fmt.Println(h.Healthy, h.Issued, h.Workers[0].WorkerID, h.Errors)
	// Output: true 1 1 {0 0 0 0 0 0 0 0}
}

func ExampleGenerator_String() {
	g := coretest.New(example)
	if _, err := g.Next(); err != nil {
		log.Fatal(err)
	}
	fmt.Println(g)
	if err := g.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(g)
	// Output:
	// unalike generator, worker ID 1, IDs issued: 1
	// unalike generator, worker ID 1, IDs issued: 1, not ready: core: generator closed
}

// A health endpoint needs no more than this.
func ExampleHealth_MarshalJSON() {
	g := coretest.New(example)
	if err := g.Close(context.Background()); err != nil {
		log.Fatal(err)
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	if err := e.Encode(g.Health()); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {
	//   "healthy": false,
	//   "closed": true,
	//   "error": "core: generator closed",
	//   "workers": [
	//     {
	//       "worker_id": 1,
	//       "generation": 1,
	//       "since": "2025-01-01T12:00:00Z",
	//       "last_renewal": "2025-01-01T12:00:00Z",
	//       "window_left_seconds": 0,
	//       "lead_seconds": 0,
	//       "error": "core: generator closed",
	//       "failing": "core: generator closed"
	//     }
	//   ],
	//   "last_renewal": "2025-01-01T12:00:00Z",
	//   "window_left_seconds": 0,
	//   "lead_seconds": 0,
	//   "issued": 0,
	//   "errors": {
	//     "not_started": 0,
	//     "clock_rollback": 0,
	//     "sequence_exhausted": 0,
	//     "window_not_open": 0,
	//     "window_ended": 0,
	//     "time_exhausted": 0,
	//     "closed": 0,
	//     "context_ended": 0
	//   },
	//   "rollbacks": 0
	// }
}

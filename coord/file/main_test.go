package file

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/leaktest"
)

const (
	childURL  = "UNALIKE_TEST_FILE_URL" // set: the process prints IDs
	childWeak = "UNALIKE_TEST_NOBODY"   // set: it gives up the rights of root before
	// childContainer set: it does so in a PID namespace of its own.
	childContainer = "UNALIKE_TEST_CONTAINER"
)

// inContainer runs this program in a PID namespace of its own; nil: there are none.
var inContainer func() error

func TestMain(m *testing.M) {
	switch url := os.Getenv(childURL); {
	case os.Getenv(childContainer) != "":
		fmt.Println("error:", inContainer())
	case url != "":
		fmt.Println("error:", printIDs(url))
	default:
		leaktest.Main(m)
	}
}

// workers is how many worker IDs the processes of tests share.
const workers = 16

// pace is how often the processes print an ID.
const pace = 20 * time.Millisecond

// printIDs prints IDs.
func printIDs(url string) error {
	if os.Getenv(childWeak) != "" {
		if err := becomeNobody(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := coord.Open(ctx, url, coord.OpenOptions{})
	if err != nil {
		return err
	}
	lease := coord.LeaseConfig{WorkerIDs: coord.Range{Count: workers}}
	g, err := core.New(ctx, c, core.Config{Lease: lease})
	if err != nil {
		return err
	}
	tick := time.NewTicker(pace)
	for {
		id, err := g.NextContext(ctx)
		if err != nil {
			return err
		}
		fmt.Println(int64(id))
		<-tick.C
	}
}

package embedded

import (
	"context"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// starve lets the process write no file beyond its first bytes, as a disk that is full.
func starve() error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = 1
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}

func init() {
	// The child's disk is full. It prints what becomes of a call.
	works["starve"] = beStarved
}

// TestDiskFull: a disk that fails does not end the process that runs the server. It says
// what is wrong, and when it ends, others go on with all that was acknowledged.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := newDir(t)
	host := startChild(t, dir, "starve")
	if got := host.Line(t); !strings.Contains(got, "whose etcd does not run: etcd cannot go on: ") ||
		!strings.Contains(got, "file too large") {
		t.Errorf("with a full disk: %s", got)
	}
	select {
	case <-host.Done():
		t.Error("the process ended")
	default:
	}
	host.Kill()
	slots, err := openFolder(t, dir, "children").List(within(t))
	if err != nil || len(slots) != 1 {
		safetytest.Unless(t, err).Errorf("slots are %+v, %v; want the one that was granted", slots, err)
	}
}

// beStarved acquires a worker ID, and another one with a full disk, until an error
// says why that cannot be.
func beStarved(ctx context.Context, c *coordinator) error {
	if _, err := c.Acquire(ctx, request(4)); err != nil {
		return err
	}
	if err := starve(); err != nil {
		return err
	}
	for ctx.Err() == nil {
		call, cancel := context.WithTimeout(ctx, time.Second)
		_, err := c.Acquire(call, request(4))
		cancel()
		if err != nil && strings.Contains(err.Error(), "cannot go on") {
			fmt.Println(err)
			break
		}
	}
	<-ctx.Done()
	return ctx.Err()
}

package zk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
)

// TestTransient: what may be gone with the next try.
func TestTransient(t *testing.T) {
	for err, want := range map[error]bool{
		client.ErrConnectionClosed: true,
		client.ErrSessionMoved:     true,
		context.DeadlineExceeded:   true,
		&net.OpError{
			Op: "write", Net: "tcp",
			Err: os.NewSyscallError("write", errors.New("broken pipe")),
		}: true,
		client.ErrNoNode: false,
		fmt.Errorf("%w: no ZooKeeper", coord.ErrInvalid): false,
	} {
		if transient(err) != want {
			t.Errorf("%v: transient: %t", err, !want)
		}
	}
}

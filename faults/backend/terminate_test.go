package backend_test

import (
	"net"
	"testing"
	"time"

	"github.com/unalike-id/unalike/faults/backend"
)

// A member of etcd to which somebody has connected and sent nothing ends all the same: by itself it would wait for as
// long as that connection stays.
func TestTerminateSilent(t *testing.T) {
	t.Parallel()
	b := backend.Start(t, "etcd")
	silent, err := net.Dial("tcp", b.Proxy().Addrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	slots(t, b) // on a connection that was accepted later
	member := b.Servers()[0]
	gone := member.Done()
	go member.Terminate(t)
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Fatal("the member has not ended after a minute")
	}
	member.Restart(t)
	acquire(t, b)
}

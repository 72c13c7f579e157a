package etcd

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestComesBack: calls to a server that is away try to connect, so that its return is not missed:
// the client alone waits longer and longer, up to two minutes.
func TestComesBack(t *testing.T) {
	s := start(t)
	var dials atomic.Int64
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		dials.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	st := s.store(0, grpc.WithContextDialer(dial))
	s.create(st, "a")
	s.wantTake(st, "a", 1)
	s.Kill()
	before := dials.Load()
	const calls = 40
	for i := range calls {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		var err error
		if i%2 == 0 {
			_, err = st.Take(ctx, "a", 10)
		} else {
			_, err = st.Tags(ctx)
		}
		cancel()
		if err == nil {
			t.Fatal("a call to a server that is away has an answer")
		}
	}
	if n := dials.Load() - before; n < calls/4 {
		t.Errorf("%d calls to a server that is away have tried to connect %d times", calls, n)
	}
	s.Restart(t)
	streamtest.Eventually(t, "ranges are taken again", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r, err := st.Take(ctx, "a", 10)
		return err == nil && r.First >= 11
	})
}

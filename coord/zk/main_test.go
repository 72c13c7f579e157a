package zk_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// callTime is for one call on a machine that is busy with other things.
const callTime = 30 * time.Second

// layout is the fingerprint of the default layout.
const layout = "41/10/12/1ms/2024-01-01T00:00:00Z"

const (
	capacity = 1024
	lastTick = 1<<41 - 1
)

func scale() clock.Scale {
	return clock.Scale{Epoch: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), Unit: 1000}
}

func space() coord.Space {
	return coord.Space{Fingerprint: layout, Scale: scale(), LastTick: lastTick, Capacity: capacity}
}

// tickNow is the tick of this machine's clock.
func tickNow() int64 { return scale().Tick(time.Now().UnixMicro()) }

// request asks for one of the worker IDs 0 to n-1, with a new token and a horizon of
// 10 s.
func request(n int) coord.Request {
	now := tickNow()
	return coord.Request{
		Token: rand.Text(), Holder: "test", Fingerprint: layout, Scale: scale(), LastTick: lastTick,
		Workers: coord.Range{Count: n}, Capacity: capacity, TTL: 15 * time.Second,
		Now: now, Until: now + 10_000, OpenBy: now, Ahead: 5,
	}
}

// within returns a context for one call.
func within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), callTime)
	tb.Cleanup(cancel)
	return ctx
}

// newCoordinator returns a coordinator that is closed with the test.
func newCoordinator(tb testing.TB, servers []string, namespace string, o *zk.Options) *zk.Coordinator {
	tb.Helper()
	c, err := zk.New(servers, namespace, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return c
}

func mustAcquire(tb testing.TB, c coord.Coordinator, req coord.Request) coord.Grant {
	tb.Helper()
	g, err := c.Acquire(within(tb), req)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// operator reads and writes nodes directly.
type operator struct{ *client.Conn }

// newOperator connects to servers; the connection is closed with the test.
func newOperator(tb testing.TB, servers []string) operator {
	tb.Helper()
	conn, _, err := client.Connect(servers, 20*time.Second, client.WithLogger(quiet{}))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	return operator{conn}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// spacePath is the node of a namespace.
func spacePath(namespace string) string { return "/unalike/" + namespace }

// ownerPath is the node that a holder has in its session.
func ownerPath(namespace string, worker int) string {
	return fmt.Sprintf("%s/owners/%010d", spacePath(namespace), worker)
}

// slotPath is the node of a worker ID's window.
func slotPath(namespace string, worker int) string {
	return fmt.Sprintf("%s/slots/%010d", spacePath(namespace), worker)
}

// owner returns the session that holds a worker ID; 0: none does.
func (o operator) owner(tb testing.TB, namespace string, worker int) int64 {
	tb.Helper()
	if _, err := o.Sync("/"); err != nil {
		tb.Fatal(err)
	}
	there, stat, err := o.Exists(ownerPath(namespace, worker))
	if err != nil {
		tb.Fatal(err)
	}
	if !there {
		return 0
	}
	return stat.EphemeralOwner
}

// endSession ends the session of whoever holds a worker ID, if anybody does.
func endSession(tb testing.TB, o operator, s *zktest.Server, namespace string, worker int) {
	tb.Helper()
	if id := o.owner(tb, namespace, worker); id != 0 {
		s.KillSession(tb, id)
	}
}

// replaceField replaces the value of a field of a JSON object, and leaves everything
// else as it is, the order among it.
func replaceField(object []byte, name string, value []byte) []byte {
	field := regexp.MustCompile(`"` + name + `":("[^"]*"|[^,}]*)`)
	return field.ReplaceAllLiteral(object, append([]byte(`"`+name+`":`), value...))
}

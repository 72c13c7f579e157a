package zk_test

import (
	"fmt"
	"testing"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord/zk"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

func TestMain(m *testing.M) {
	leaktest.Main(m)
}

const (
	callTime = drivertest.CallTime
	capacity = drivertest.Capacity
)

var (
	scale, space, tickNow = drivertest.Scale, drivertest.Space, drivertest.TickNow
	request, within       = drivertest.Request, drivertest.Within
	mustAcquire           = drivertest.MustAcquire
)

// newCoordinator returns a coordinator that is closed with the test.
func newCoordinator(tb testing.TB, servers []string, namespace string,
	o *zk.Options,
) protocol.Full {
	tb.Helper()
	if o == nil {
		o = &zk.Options{}
	}
	c, err := zk.New(servers, namespace, *o)
	return drivertest.Closing(tb, c, err).(protocol.Full)
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

// holdersPath is the folder of the sessions of holders.
func holdersPath(namespace string) string { return spacePath(namespace) + "/holders" }

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

package etcdclient

import (
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// connecting is how long a client waits between attempts to connect, also within a call: a server
// that comes back is noticed within a second. A client alone waits longer and longer, up to two
// minutes.
var connecting = grpc.ConnectParams{
	Backoff: backoff.Config{
		BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
		MaxDelay: 500 * time.Millisecond,
	},
	MinConnectTimeout: connectTime,
}

// connectTime bounds an attempt.
const connectTime = 5 * time.Second

// Reconnect has a client try to connect at the next request after one that got no answer, also a
// client that somebody else has made: who makes a request has waited already. The zero value is
// ready. It is safe for concurrent use.
type Reconnect struct{ failed atomic.Bool }

// Before is called before a request.
func (r *Reconnect) Before(client *clientv3.Client) {
	if r.failed.Swap(false) {
		client.ActiveConnection().ResetConnectBackoff()
	}
}

// Failed is called after a request that got no answer.
func (r *Reconnect) Failed() { r.failed.Store(true) }

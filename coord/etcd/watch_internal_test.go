package etcd

import (
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestRenewalsAreNoHint: the end of a lease and a retired worker ID are, a renewal is not.
func TestRenewalsAreNoHint(t *testing.T) {
	for what, tt := range map[string]struct {
		event  *clientv3.Event
		notice bool
	}{
		"renewed": {&clientv3.Event{Type: mvccpb.PUT, Kv: &mvccpb.KeyValue{Lease: 7}}, false},
		"retired": {&clientv3.Event{Type: mvccpb.PUT, Kv: &mvccpb.KeyValue{}}, true},
		"ended":   {&clientv3.Event{Type: mvccpb.DELETE, Kv: &mvccpb.KeyValue{}}, true},
	} {
		if got := unleased(tt.event); got != tt.notice {
			t.Errorf("%s: a hint: %v; want %v", what, got, tt.notice)
		}
	}
}

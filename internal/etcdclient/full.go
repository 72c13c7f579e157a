package etcdclient

import (
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// full says what to do if a cluster takes no writes because its database has reached its quota;
// empty: err is another error. It takes writes again once that is done.
func full(err error) string {
	if errors.Is(err, rpctypes.ErrNoSpace) {
		return "the database of the etcd cluster has reached its quota, and takes no writes: " +
			"compact it (etcdctl compact), defragment its members (etcdctl defrag --cluster) " +
			"and clear the alarm (etcdctl alarm disarm); then see that it is compacted by " +
			"itself, or raise --quota-backend-bytes"
	}
	return ""
}

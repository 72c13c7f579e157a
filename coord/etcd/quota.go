package etcd

import (
	"context"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

const (
	// roomEvery is how often it is looked how full the database is.
	roomEvery = 5 * time.Minute
	// roomUsed is how much of its quota the database may have, in percent, without a warning.
	roomUsed = 60
)

// watchRoom looks with each tick how full the database is, until ctx ends.
func (st *store) watchRoom(ctx context.Context, ticks <-chan time.Time) {
	for full := false; ; {
		select {
		case <-ticks:
			full = st.lookAtRoom(ctx, full)
		case <-ctx.Done():
			return
		}
	}
}

// lookAtRoom reports whether the database is too full, and warns of it unless it was so before.
// Servers before 3.6 do not tell their quota, and some users may not ask: then it is as before.
func (st *store) lookAtRoom(ctx context.Context, before bool) (full bool) {
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	status, err := pb.NewMaintenanceClient(st.client.ActiveConnection()).Status(ctx,
		&pb.StatusRequest{})
	if err != nil || status.GetDbSizeQuota() <= 0 {
		return before
	}
	size, quota := status.GetDbSize(), status.GetDbSizeQuota()
	full = float64(size) > float64(quota)*roomUsed/100
	if full && !before {
		st.log.Warn("the database of the etcd cluster fills up; at its quota it takes no writes: see "+
			"that it is compacted by itself, and defragment it, or raise --quota-backend-bytes",
			"keys", string(st.keys), "size", size, "in_use", status.GetDbSizeInUse(), "quota", quota)
	}
	return full
}

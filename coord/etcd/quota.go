package etcd

import (
	"context"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/unalike-id/unalike/internal/lifetime"
)

const (
	// roomEvery is how often it is looked how full the database is, by who renews.
	roomEvery = 5 * time.Minute
	// roomUsed is how much of its quota the database may have, in percent, without a warning.
	roomUsed = 60
)

// quotaCheck is what is known of how full the database is.
type quotaCheck struct {
	mu     sync.Mutex
	next   time.Time // when to look again, monotonic
	warned bool      // and it has not become emptier since
}

// due reports whether it is time to look, which one caller is told.
func (r *quotaCheck) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lifetime.Until(r.next) > 0 {
		return false
	}
	r.next = lifetime.Now().Add(roomEvery)
	return true
}

// filled notes whether the database is too full, and reports whether that is new.
func (r *quotaCheck) filled(full bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	news := full && !r.warned
	r.warned = full
	return news
}

// checkRoom looks in the background, now and then, how full the database is, and warns once
// when it is too full. Servers before 3.6 do not tell their quota. A user who may not ask is
// not warned.
func (st *store) checkRoom() {
	if st.room.due() {
		st.life.Spawn(func() { st.lookAtRoom(st.life.Context()) })
	}
}

func (st *store) lookAtRoom(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, tidyTime)
	defer cancel()
	status, err := pb.NewMaintenanceClient(st.client.ActiveConnection()).Status(ctx,
		&pb.StatusRequest{})
	if err != nil || status.GetDbSizeQuota() <= 0 {
		return
	}
	size, quota := status.GetDbSize(), status.GetDbSizeQuota()
	if st.room.filled(float64(size) > float64(quota)*roomUsed/100) {
		st.log.Warn("the database of the etcd cluster fills up; at its quota it takes no writes: see "+
			"that it is compacted by itself, and defragment it, or raise --quota-backend-bytes",
			"keys", string(st.keys), "size", size, "in_use", status.GetDbSizeInUse(), "quota", quota)
	}
}

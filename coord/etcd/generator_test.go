package etcd_test

import (
	"time"

	"github.com/unalike-id/unalike/coord"
)

// lease are times that make a test short: a TTL as short as etcd has it.
func lease() coord.LeaseConfig {
	return coord.LeaseConfig{TTL: 2 * time.Second, Horizon: 8 * time.Second, RenewEvery: 500 * time.Millisecond}
}

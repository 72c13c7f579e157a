package driver_test

import (
	"context"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/coord/file"
)

// patient is a coordinator whose leases last for ten seconds at least.
type patient struct{ coord.AdminCoordinator }

// Describe tells generators of its leases.
func (patient) Describe() coord.Description {
	return coord.Description{Rules: coord.LeaseRules{
		MinTTL: 10 * time.Second, Default: coord.LeaseConfig{TTL: time.Minute},
	}}
}

// A driver makes its scheme known, most often in an init function. Then coord.Open finds it.
func ExampleRegister() {
	var open driver.Opener[coord.Coordinator] = func(_ context.Context, u *driver.URL,
	) (coord.Coordinator, error) {
		if err := u.CheckOptions("namespace"); err != nil {
			return nil, err
		}
		c, err := file.New(u.Path, file.Options{Namespace: u.Option("namespace")})
		if err != nil {
			return nil, err
		}
		return patient{c}, nil
	}
	driver.Register("patient", open)

	c, err := coord.Open(context.Background(), "patient:///var/lib/app/ids?namespace=orders",
		coord.OpenOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	lease, err := coord.Describe(c).Rules.Resolve(coord.LeaseConfig{})
	fmt.Println(lease.TTL, err)
	// Output: 1m0s <nil>
}

package local

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// TestShortLease: a lease that is shorter than the window, set in the configuration.
func TestShortLease(t *testing.T) {
	p := newRig(t).start()
	for _, cfg := range []coord.LeaseConfig{{TTL: time.Second}, {Horizon: 2 * time.Second}, {RenewEvery: 4 * time.Second}} {
		if _, err := driver.ResolveLease(coord.Describe(p.link).Rules, cfg); err != nil {
			t.Fatal(err)
		}
		if _, err := driver.ResolveLease(coord.Describe(p).Rules, cfg); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

// TestZero: methods of a coordinator that was not made.
func TestZero(t *testing.T) {
	defer func() {
		if p := recover(); p != nil {
			t.Fatal(p)
		}
	}()
	var c Coordinator
	_, _ = c.Inspect(t.Context())
	var none *Coordinator
	_ = none.Describe()
}

package sqltest

import (
	"errors"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Held holds a renewal, a resumption and a grant between what they read and their commit, while
// the floor is raised: no window crosses a floor that was raised before it was written.
func Held(t *testing.T, d *Database) {
	for _, name := range []string{"Renew", "Resume", "Acquire"} {
		t.Run(name, func(t *testing.T) { held(d.On(t), name) })
	}
}

func held(d *Database, name string) {
	ns, c, g := d.granted()
	operator := d.New(ns)
	floor := g.NotAfter + 5_000
	req := drivertest.Request(2)
	req.Until, req.Workers = floor+10_000, coord.Range{First: 1, Count: 1}

	locks, err := d.SQL.BeginTx(drivertest.Within(d), nil)
	if err != nil {
		d.Fatal(err)
	}
	if _, err := locks.Exec("SELECT worker FROM unalike_slots WHERE namespace = '" + ns +
		"' AND worker IN (0, 1) ORDER BY worker FOR UPDATE"); err != nil {
		d.Fatal(err)
	}
	ran, raised := make(chan error, 1), make(chan error, 1)
	go func() {
		var err error
		switch ctx := drivertest.Within(d); name {
		case "Renew":
			_, err = c.Renew(ctx, g, req.Until)
		case "Resume":
			_, err = c.Resume(ctx, g, req.Token, req.Until)
		case "Acquire":
			_, err = c.Acquire(ctx, req)
		}
		ran <- err
	}()
	waits := func(n int64) func() bool {
		return func() bool { return len(raised) > 0 || d.Int("%s", d.Waiting) >= n }
	}
	streamtest.Eventually(d, "the statement is held", waits(1))
	go func() {
		until := time.UnixMicro(drivertest.Scale().Micro(floor))
		_, err := operator.Quarantine(drivertest.Within(d), until)
		raised <- err
	}()
	streamtest.Eventually(d, "the floor is raised, or waits", waits(2))
	early := len(raised) > 0
	if err := locks.Rollback(); err != nil {
		d.Error(err)
	}
	err = <-ran
	if raiseErr := <-raised; raiseErr != nil {
		d.Fatal(raiseErr)
	}
	if early {
		safetytest.Of(d).Errorf("the floor was raised to %d while a statement that had read it was "+
			"under way: %v", floor, err)
	}
	if err != nil && !errors.Is(err, coord.ErrQuarantined) {
		d.Error(err)
	}
}

package sqltest

import (
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// Held holds a renewal, a resumption and a grant between what they read and their commit, while
// the floor is raised: no window crosses a floor that was raised before it was written.
func Held(t *testing.T, d *Database) {
	t.Helper()
	for _, name := range []string{"Renew", "Resume", "Acquire"} {
		t.Run(name, func(t *testing.T) { held(t, d, name) })
	}
}

func held(t *testing.T, d *Database, call string) {
	ns := newName()
	c, _ := d.New(t, ns)
	operator, _ := d.New(t, ns)
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	floor := g.NotAfter + 5_000

	let := lockRows(t, d, fmt.Sprintf("SELECT worker FROM unalike_slots WHERE namespace = '%s'"+
		" AND worker IN (0, 1) ORDER BY worker FOR UPDATE", ns))
	var r coord.Grant
	var err, raiseErr error
	ran, raised := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ran)
		req := drivertest.Request(2)
		req.Until = floor + 10_000
		switch call {
		case "Renew":
			r, err = c.Renew(drivertest.Within(t), g, req.Until)
		case "Resume":
			r, err = c.Resume(drivertest.Within(t), g, req.Token, req.Until)
		default:
			req.Workers = coord.Range{First: 1, Count: 1}
			r, err = c.Acquire(drivertest.Within(t), req)
		}
	}()
	waits := func(n int64) func() bool {
		return func() bool { return d.Int(t, "%s", d.Waiting) >= n }
	}
	streamtest.Eventually(t, "the statement is held", waits(1))
	go func() {
		defer close(raised)
		until := time.UnixMicro(drivertest.Scale().Micro(floor))
		_, raiseErr = operator.Quarantine(drivertest.Within(t), until)
	}()
	early := false
	streamtest.Eventually(t, "the floor is raised, or waits", func() bool {
		select {
		case <-raised:
			early = true
		default:
		}
		return early || waits(2)()
	})
	let()
	<-ran
	<-raised
	if raiseErr != nil {
		t.Fatal(raiseErr)
	}
	if early && err == nil && r.NotBefore < floor && r.NotAfter > floor {
		t.Errorf("the floor was raised to %d, and then %v was written", floor, r)
	}
	if early {
		t.Errorf("the floor was raised to %d while a statement that had read it was under way: %v, %v",
			floor, r, err)
	}
	if err != nil && !errors.Is(err, coord.ErrQuarantined) {
		t.Error(err)
	}
}

// lockRows makes a query in a transaction that ends with let.
func lockRows(t *testing.T, d *Database, query string) (let func()) {
	t.Helper()
	tx, err := d.SQL.BeginTx(drivertest.Within(t), &sql.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := tx.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}

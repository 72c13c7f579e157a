package postgres

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestConfirmedAgain: an operator who asks for something again, because it is not known whether
// the standby has it, is told that it is done only when the standby has it.
func TestConfirmedAgain(t *testing.T) {
	d := database(t, pgtest.Start(t), "")
	c := d.New("ns")
	drivertest.MustAcquire(t, c, drivertest.Request(1))
	awaitNobody(t, d)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	until := time.Now().Add(time.Hour)
	for what, call := range map[string]func() error{
		"Quarantine": func() error { _, err := c.Quarantine(ctx, until); return err },
		"Retire":     func() error { return c.Retire(ctx, 1) },
	} {
		for range 2 {
			done := make(chan error, 1)
			go func() { done <- call() }()
			streamtest.Eventually(t, "the commit waits", func() bool {
				return len(done) == 1 || d.Int("SELECT COUNT(*) "+waits) == 1
			})
			d.Exec("SELECT pg_cancel_backend(pid) " + waits)
			if err := <-done; err == nil || errors.Is(err, coord.ErrInvalid) {
				safetytest.Unless(t, err).Errorf("%s, which the standby does not have: %v; want an error "+
					"that may pass", what, err)
			}
		}
	}
}

// TestWraparound: a database that wants a VACUUM warns with each transaction, which is as good as
// any other.
func TestWraparound(t *testing.T) {
	s := pgtest.Start(t, "-c", "autovacuum=off")
	d := database(t, s, "")
	c := d.New("ns")
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	d.Exec("CHECKPOINT")
	s.Kill()
	_ = os.Remove(filepath.Join(s.Dir, "postmaster.pid"))
	if out, err := s.Command(t, pgtest.Program("pg_resetwal"), "-f", "-x", "2110000001",
		s.Dir).CombinedOutput(); err != nil {
		t.Fatalf("pg_resetwal: %v\n%s", err, out)
	}
	make0 := s.Command(t, "tee", filepath.Join(s.Dir, "pg_xact", "07DC")) // as who runs the server
	make0.Stdin = bytes.NewReader(make([]byte, 256<<10))
	if err := make0.Run(); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	again := database(t, s, "").New("ns") // which knows nothing of the log that is gone
	g.Handle = nil
	if r, err := again.Renew(drivertest.Within(t), g, g.NotAfter+1000); err != nil ||
		r.NotAfter != g.NotAfter+1000 {
		t.Errorf("Renew in a database that wants a VACUUM: %v, %v", r, err)
	}
}

// TestEncoding: in a database with another encoding text is stored and found as it is, if it can
// be.
func TestEncoding(t *testing.T) {
	s := pgtest.Start(t)
	database(t, s, "").Exec("CREATE DATABASE latin1 TEMPLATE template0 ENCODING 'LATIN1' " +
		"LC_COLLATE 'C' LC_CTYPE 'C'")
	d := database(t, s, "&dbname=latin1")
	c := d.New("ns")
	req := drivertest.Request(2)
	req.Identity, req.Holder = "größe", "ÄÖÜ"
	g := drivertest.MustAcquire(t, c, req)
	other := d.New("ns")
	g.Handle = nil
	if _, err := other.Renew(drivertest.Within(t), g, g.NotAfter+1000); err != nil {
		t.Errorf("Renew: %v", err)
	}
	if l, err := other.List(drivertest.Within(t)); err != nil || len(l) != 1 ||
		l[0].Identity != req.Identity || l[0].Holder != req.Holder {
		t.Errorf("List: %+v, %v", l, err)
	}
	req.Token, req.Identity = "other", "🦆"
	_, err := c.Acquire(drivertest.Within(t), req)
	drivertest.WantInvalid(t, "Acquire with what the encoding does not have", err, "LATIN1")
}

// TestNoSchema: where there is no place for tables, that is said for good.
func TestNoSchema(t *testing.T) {
	c := database(t, pgtest.Start(t), "&search_path=nosuch").New("ns")
	_, err := c.Acquire(drivertest.Within(t), drivertest.Request(1))
	drivertest.WantInvalid(t, "Acquire", err, "no schema has been selected",
		"CREATE TABLE IF NOT EXISTS unalike_slots")
}

// TestMakingForLong: who has no time to wait for somebody that makes the tables tries again.
func TestMakingForLong(t *testing.T) {
	s := pgtest.Start(t)
	d := database(t, s, "&lock_timeout=50ms")
	tx, err := d.SQL.BeginTx(t.Context(), &sql.TxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("SELECT pg_advisory_xact_lock(hashtext('unalike_'))"); err != nil {
		t.Fatal(err)
	}
	c := d.New("ns")
	if g, err := c.Acquire(drivertest.Within(t), drivertest.Request(1)); err == nil ||
		coord.Permanent(err) {
		t.Errorf("Acquire while the tables are being made: %v, %v; want an error that may pass", g, err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	drivertest.MustAcquire(t, c, drivertest.Request(1))
}

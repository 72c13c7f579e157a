package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/sqldb/pgdb"
	"github.com/unalike-id/unalike/internal/sqlstore/sqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// TestSynchronous: what is confirmed is kept, whatever synchronous_commit the user has.
func TestSynchronous(t *testing.T) {
	s := pgtest.Start(t)
	for _, level := range []string{"off", "local", "remote_write", "on", "remote_apply"} {
		d := database(t, s, "&synchronous_commit="+level+"&client_min_messages=error")
		c := d.New("ns")
		if err := c.Init(drivertest.Within(t), drivertest.Space()); err != nil &&
			!errors.Is(err, coord.ErrInvalid) {
			t.Fatal(err)
		}
		d.Exec("DROP TABLE IF EXISTS levels")
		d.Exec("CREATE TABLE levels AS SELECT current_setting('synchronous_commit') AS level, " +
			"current_setting('client_min_messages') AS messages WHERE false")
		d.Exec(`CREATE OR REPLACE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN INSERT INTO levels VALUES (current_setting('synchronous_commit'),
current_setting('client_min_messages')); RETURN NEW; END$$`)
		d.Exec("CREATE OR REPLACE TRIGGER note BEFORE UPDATE ON unalike_slots FOR EACH ROW EXECUTE " +
			"FUNCTION note()")
		drivertest.MustAcquire(t, c, drivertest.Request(drivertest.Capacity))
		if n := d.Int("SELECT COUNT(*) FROM levels WHERE level IN ('on', 'remote_apply') AND " +
			"messages = 'warning'"); n != 1 {
			safetytest.Of(t).Errorf("with synchronous_commit=%s, a grant was written with %q", level,
				d.Text("SELECT level || ' ' || messages FROM levels"))
		}
	}
}

// waits are the commits that wait for a standby.
const waits = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

// awaitNobody has all commits wait for a standby that is not there.
func awaitNobody(t *testing.T, d *sqltest.Database) {
	t.Helper()
	d.Exec("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
	d.Exec("SELECT pg_reload_conf()")
	others, end := context.WithCancel(t.Context())
	defer end()
	go func() { // until the server has heard of it
		for others.Err() == nil {
			_, _ = d.SQL.ExecContext(others, "UPDATE unalike_history SET version = version")
		}
	}()
	streamtest.Eventually(t, "commits wait", func() bool {
		return d.Int("SELECT COUNT(*) "+waits) == 1
	})
	end()
	streamtest.Eventually(t, "none waits", func() bool {
		return d.Int("SELECT COUNT(*) "+waits) == 0
	})
}

// TestCancelledWait: a commit that waits for its standby is confirmed with a warning when the
// wait is cancelled. Its outcome is unknown, and reading what the standby may not have does
// not settle it.
func TestCancelledWait(t *testing.T) {
	s := pgtest.Start(t)
	d := database(t, s, "&client_min_messages=error")
	c := d.New("ns")
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	awaitNobody(t, d)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		r, err := c.Renew(ctx, g, g.NotAfter+1000)
		if err == nil {
			safetytest.Of(t).Errorf("Renew of %v, which the standby does not have: %v", g, r)
		}
		done <- err
	}()
	streamtest.Eventually(t, "the commit waits", func() bool {
		return d.Int("SELECT COUNT(*) "+waits) == 1
	})
	d.Exec("SELECT pg_cancel_backend(pid) " + waits)
	streamtest.Eventually(t, "the one that settles it waits", func() bool {
		return len(done) == 1 || d.Int("SELECT COUNT(*) "+waits+
			" AND query NOT LIKE '%%UPDATE unalike_slots%%'") == 1
	})
	cancel()
	if err := <-done; err == nil || errors.Is(err, coord.ErrLeaseLost) {
		t.Errorf("Renew: %v; want an error that is not definite", err)
	}
	d.Exec("ALTER SYSTEM RESET synchronous_standby_names")
	d.Exec("SELECT pg_reload_conf()")
	if r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000); err != nil ||
		r.NotAfter < g.NotAfter+1000 {
		t.Errorf("Renew when the standby is not waited for: %v, %v", r, err)
	}
}

// TestRisks: a server that may lose what it has confirmed is refused.
func TestRisks(t *testing.T) {
	d := database(t, pgtest.Start(t, "-c", "full_page_writes=off"), "")
	sqltest.Risk(d, "full_page_writes", "set it to on")
	d.Accept = []string{"full_page_writes"}
	sqltest.Risk(d, "fsync", "set it to on")
}

// TestRights: a user who may not make tables is told what to have somebody run, and one who may
// not write them, which rights are missing.
func TestRights(t *testing.T) {
	s := pgtest.Start(t)
	d := database(t, s, "")
	d.Exec("CREATE ROLE ann LOGIN")
	sqltest.Rights(d, *database(t, s, "&user=ann"), func(script string) error {
		_, err := newPool(t, s.URL()).Exec(t.Context(), script, pgx.QueryExecModeSimpleProtocol)
		return err
	}, "GRANT SELECT, INSERT, UPDATE ON unalike_namespaces, unalike_slots, unalike_history TO ann",
		"GRANT USAGE ON SEQUENCE unalike_tickets TO ann")
}

// TestRowSecurity: a user from whom row-level security may hide rows is refused, whatever the
// policies say, and serves once it does not apply any more.
func TestRowSecurity(t *testing.T) {
	s := pgtest.Start(t)
	d := database(t, s, "")
	drivertest.MustAcquire(t, d.New("ns"), drivertest.Request(2))
	d.Do("CREATE ROLE app LOGIN", "GRANT SELECT, INSERT, UPDATE ON unalike_namespaces, "+
		"unalike_slots, unalike_history TO app", "GRANT USAGE ON SEQUENCE unalike_tickets TO app")
	app := database(t, s, "&user=app")
	for _, table := range []string{"unalike_namespaces", "unalike_slots", "unalike_history"} {
		d.Do("ALTER TABLE " + table + " ENABLE ROW LEVEL SECURITY")
		for _, policy := range []string{"", "CREATE POLICY all_rows ON " + table + " USING (true)"} {
			d.Do(policy)
			c := app.New("ns")
			_, err := c.Acquire(drivertest.Within(t), drivertest.Request(2))
			_, err1 := c.List(drivertest.Within(t))
			for _, err := range []error{err, err1} {
				drivertest.WantInvalid(t, table+", "+policy, err,
					"row-level security applies to this user in the tables unalike_*")
			}
		}
		d.Do("ALTER TABLE " + table + " DISABLE ROW LEVEL SECURITY")
	}
	drivertest.MustAcquire(t, app.New("ns"), drivertest.Request(2))
}

// TestPgBouncer: a pooler in transaction mode has another connection for each transaction.
func TestPgBouncer(t *testing.T) {
	s := pgtest.Start(t)
	d := database(t, s, "")
	d.DB = pgdb.Of(newPool(t, s.Bouncer(t)))
	sqltest.OneConnection(d)
}

// TestRolledBack: a server whose files are put back has a shorter log.
func TestRolledBack(t *testing.T) {
	s := pgtest.Start(t)
	sqltest.RolledBack(database(t, s, ""), s, s.Dir)
}

// TestPromoted: a standby that is promoted lacks what was confirmed last. Before that, it says
// that it is one.
func TestPromoted(t *testing.T) {
	s := pgtest.Start(t)
	d := database(t, s, "")
	c := d.New("others")
	if err := c.Init(drivertest.Within(t), drivertest.Space()); err != nil {
		t.Fatal(err)
	}
	standby := s.Standby(t)
	there := database(t, standby, "")
	sqltest.Promoted(d, sqltest.Standby{
		Database: there,
		Cut:      standby.Kill,
		Promote: func() {
			s.Kill()
			standby.Restart(t)
			streamtest.Eventually(t, "it is promoted", func() bool {
				_, err := there.SQL.ExecContext(t.Context(), "SELECT pg_promote()")
				return err == nil
			})
		},
	})
}

// TestRebuilt: VACUUM FULL and its kin write tables anew, which takes them away from everybody for
// a moment, again and again while a holder renews: it waits, goes on, and nothing is taken for a
// loss.
func TestRebuilt(t *testing.T) {
	d := database(t, pgtest.Start(t), "")
	c := d.New("ns")
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))
	stop, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for stop.Err() == nil {
			r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1)
			switch {
			case err == nil:
				g = r
			case coord.Permanent(err): // otherwise a holder tries again
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	for range 5 {
		d.Do("VACUUM FULL unalike_slots", "VACUUM FULL unalike_namespaces", "VACUUM FULL",
			"CLUSTER unalike_slots USING unalike_slots_pkey", "REINDEX TABLE unalike_slots")
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n, err := c.Inspect(drivertest.Within(t)); err != nil || !n.Lost.IsZero() {
		t.Errorf("Inspect: %+v, %v; want no loss on record", n, err)
	}
	again, err := c.Renew(drivertest.Within(t), g, g.NotAfter+1000)
	if err != nil || again.NotAfter != g.NotAfter+1000 || again.Generation != g.Generation {
		t.Errorf("Renew of %v: %v, %v", g, again, err)
	}
}

package mysql

import (
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
)

// TestFlushedWindow: without a binary log, others see a transaction before it is on disk. What a
// call finds done whose answer was lost is there after a crash.
func TestFlushedWindow(t *testing.T) {
	s := mysqltest.Start(t, "--innodb-flush-log-at-timeout=2700")
	d := database(t, s, "")
	c := d.New("ns")
	g := drivertest.MustAcquire(t, c, drivertest.Request(1))

	d.Exec("SET GLOBAL innodb_flush_log_at_trx_commit = 0") // as if the disk stood still
	c.LoseNext()
	looks := c.Before(2, func() { d.Exec("SET GLOBAL innodb_flush_log_at_trx_commit = 1") })
	r, err := c.Renew(drivertest.Within(t), g, g.NotAfter+9000)
	if !looks() || err != nil {
		t.Fatalf("Renew whose answer is lost: %v, %v; want what was done", r, err)
	}
	s.Kill()
	s.Restart(t)
	c = database(t, s, "").New("ns")
	if l, err := c.List(drivertest.Within(t)); err != nil || len(l) != 1 ||
		l[0].NotAfter < r.NotAfter {
		safetytest.Unless(t, err).Errorf("after a crash: %v, %v; want the window of %v", l, err, r)
	}
}

// TestFlushedFloor: what an operator is told is there has to be there after a crash, if only he
// asks twice.
func TestFlushedFloor(t *testing.T) {
	s := mysqltest.Start(t, "--innodb-flush-log-at-timeout=2700")
	d := database(t, s, "")
	c := d.New("ns")
	drivertest.MustAcquire(t, c, drivertest.Request(1))
	until := time.Now().Add(time.Hour)

	commits := c.Before(2, func() {
		d.Exec("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
		c.LoseNext()
	})
	if floor, err := c.Quarantine(drivertest.Within(t), until); err == nil || !commits() {
		t.Fatalf("Quarantine whose answer is lost: %v, %v", floor, err)
	}
	d.Exec("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
	floor, err := c.Quarantine(drivertest.Within(t), until)
	if err != nil {
		t.Fatal(err)
	}
	s.Kill()
	s.Restart(t)
	c = database(t, s, "").New("ns")
	if n, err := c.Inspect(drivertest.Within(t)); err != nil || n.Floor.Before(floor) {
		safetytest.Unless(t, err).Errorf("after a crash: %+v, %v; want the floor at %v", n, err, floor)
	}
}

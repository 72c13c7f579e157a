package sqlsegmenttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/segment"
)

// Transaction is one of a test, and how it takes a number, makes a statement, and ends.
type Transaction struct {
	Number func(tag string) (int64, error)
	Do     func(statement string) error
	End    func(commit bool) error
}

// Gapless has many transactions of all levels take a number each and store it, of which half are
// rolled back, beside a program that takes ranges: no number is stored twice, and none is left out.
func Gapless(t *testing.T, d *Database, begin func(level string) Transaction) {
	ranges := d.Create("mixed", 1)
	d.Create("dense", 1)
	d.Do("CREATE TABLE invoices (tag varchar(10), n bigint, PRIMARY KEY (tag, n))")
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			for i := range 20 {
				tx := begin([]string{"READ COMMITTED", "REPEATABLE READ"}[i%2])
				tag := []string{"mixed", "dense"}[rand.IntN(2)]
				n, err := tx.Number(tag)
				if err == nil {
					err = tx.Do("INSERT INTO invoices VALUES ('" + tag + "', " + fmt.Sprint(n) + ")")
				}
				if commit := err == nil && rand.IntN(2) == 0; tx.End(commit) != nil && commit {
					t.Errorf("a transaction with %d was not committed", n)
				}
			}
		})
	}
	running.Go(func() {
		for range 20 {
			r, err := ranges.Take(d.Within(), "mixed", 1)
			if err == nil {
				d.Do("INSERT INTO invoices VALUES ('mixed', " + fmt.Sprint(r.First) + ")")
			}
		}
	})
	running.Wait()
	for _, tag := range []string{"dense", "mixed"} {
		count := d.Int("SELECT COUNT(*) FROM invoices WHERE tag = '%s'", tag)
		if next := d.Next(tag); next != count+1 {
			safetytest.Of(t).Errorf("%d numbers of %s are stored, and the next one is %d", count, tag, next)
		}
		if count == 0 {
			t.Errorf("no number of %s was stored", tag)
		}
	}
	for range fulltest.Rounds(0, 1) {
		<-time.After(61 * time.Second) // the minutes are to rise
		tx := begin("READ COMMITTED")
		_, err := tx.Number("dense")
		d.WantErr("Gapless", err, nil, "")
		ctx, cancel := context.WithTimeout(d.Within(), 2*time.Second)
		err = take(ctx, ranges, "mixed", 1)
		cancel()
		d.WantErr("Take beside Gapless", err, nil, "")
		if err := tx.End(false); err != nil {
			t.Error(err)
		}
		tx = begin("READ COMMITTED")
		_, err = tx.Number("dense")
		d.WantErr("Gapless after one that was rolled back", err, nil, "")
		if err := tx.End(false); err != nil {
			t.Error(err)
		}
	}
	d.Do(away)
	tx := begin("READ COMMITTED")
	_, err := tx.Number("dense")
	if err := tx.End(false); err != nil {
		t.Error(err)
	}
	d.WantErr("Gapless on another server", err, segment.ErrStoreChanged, "")
	d.raise(0)
}

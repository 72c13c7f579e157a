package sqlsegmenttest

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/segment"
)

// calls are what a store is asked for of the tag "trips", of which it has a range.
var calls = map[string]struct {
	trips  int    // on the wire, at most; 0: it fails
	points string // words in the requests after which the server falls silent
	do     func(ctx context.Context, s Store, own segment.Range) error
}{
	"New and Close": {3, "", func(ctx context.Context, s Store, _ segment.Range) error {
		// connecting, and a look at the server
		q, err := segment.New(ctx, s, "trips", segment.Config{Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			defer q.Close(ctx)
		}
		return err
	}},
	"Take": {1, "update", func(ctx context.Context, s Store, _ segment.Range) error {
		return take(ctx, s, "trips", 10)
	}},
	"its step": {1, "", func(ctx context.Context, s Store, _ segment.Range) error {
		return take(ctx, s, "trips", 0)
	}},
	"GiveBack": {2, "update commit", func(ctx context.Context, s Store, own segment.Range) error {
		_, err := s.GiveBack(ctx, "trips", own)
		return err
	}},
	"Advance": {3, "update commit", func(ctx context.Context, s Store, own segment.Range) error {
		return s.Advance(ctx, "trips", own.Last+1000)
	}},
	"Create": {0, "insert rollback", func(ctx context.Context, s Store, _ segment.Range) error {
		return s.Create(ctx, segment.Tag{Name: "trips", Step: 1})
	}},
	"Tag": {1, "", func(ctx context.Context, s Store, _ segment.Range) error {
		_, err := s.Tag(ctx, "trips")
		return err
	}},
	"Tags": {1, "select", func(ctx context.Context, s Store, _ segment.Range) error {
		_, err := s.Tags(ctx)
		return err
	}},
	"AdvanceAll": {4, "", func(ctx context.Context, s Store, _ segment.Range) error {
		return s.AdvanceAll(ctx, 1)
	}},
}

// silent has the server fall silent at each point of each call: the call ends with its context, and
// the next one is served by another connection.
func silent(d *Database) {
	for name, c := range calls {
		for word := range strings.FieldsSeq(c.points) {
			s, p := d.behind()
			own, err := s.Take(d.Within(), "trips", 10)
			if err != nil {
				d.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(d.Within(), time.Minute)
			p.ForgetAt(func(request []byte) bool {
				met := bytes.Contains(bytes.ToLower(request), []byte(word))
				if met {
					go cancel() // when it is sent
				}
				return met
			}, 0)
			err = c.do(ctx, s, own)
			// A connection may be closed instead of rolled back.
			if ctx.Err() == nil && word != "rollback" || err == nil {
				d.Errorf("%s, silent after %q: it ended with %v", name, word, err)
			}
			cancel()
			p.Reset() // the server hears that its client has given up
			r, err := s.Take(d.Within(), "trips", 10)
			if err != nil || r.First <= own.Last && name != "GiveBack" {
				safetytest.Unless(d, err).Errorf("%s, silent after %q: %v, and then %v, %v", name, word, own, r,
					err)
			}
			d.Do(d.Idle)
		}
	}
}

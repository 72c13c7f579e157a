package sqlsegmenttest

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// silent has the server fall silent at each point of each call: the call ends with its context, and
// the next one is served by another connection.
func silent(t *testing.T, d *Database) {
	d.Create(t, "silent", 1)
	for name, c := range map[string]struct {
		call func(ctx context.Context, s Store, own segment.Range) error
		at   []string // words in the requests after which it is silent
	}{
		"Take": {func(ctx context.Context, s Store, _ segment.Range) error {
			return take(ctx, s, "silent", 10)
		}, []string{"update"}},
		"GiveBack": {func(ctx context.Context, s Store, own segment.Range) error {
			_, err := s.GiveBack(ctx, "silent", own)
			return err
		}, []string{"update", "commit"}},
		"Advance": {func(ctx context.Context, s Store, own segment.Range) error {
			return s.Advance(ctx, "silent", own.Last+100)
		}, []string{"update", "commit"}},
		"Create": {func(ctx context.Context, s Store, _ segment.Range) error {
			return s.Create(ctx, segment.Tag{Name: "silent", Step: 1})
		}, []string{"insert", "rollback"}},
		"Tags": {func(ctx context.Context, s Store, _ segment.Range) error {
			_, err := s.Tags(ctx)
			return err
		}, []string{"select"}},
	} {
		for _, word := range c.at {
			s, p := d.behind(t)
			own, err := s.Take(Within(t), "silent", 10)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(Within(t), time.Minute)
			p.ForgetAt(func(request []byte) bool {
				met := bytes.Contains(bytes.ToLower(request), []byte(word))
				if met {
					go cancel() // when it is sent
				}
				return met
			}, 0)
			err = c.call(ctx, s, own)
			// A connection may be closed instead of rolled back.
			if ctx.Err() == nil && word != "rollback" || err == nil {
				t.Errorf("%s, silent after %q: it ended with %v", name, word, err)
			}
			cancel()
			p.Reset() // the server hears that its client has given up
			r, err := s.Take(Within(t), "silent", 10)
			if err != nil || r.First <= own.Last && name != "GiveBack" {
				t.Errorf("%s, silent after %q: %v, and then %v, %v", name, word, own, r, err)
			}
			d.Do(t, d.Idle)
		}
	}
}

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
	for _, c := range []struct {
		name string
		call func(ctx context.Context, s Store, own segment.Range) error
		at   []string // words in the requests after which it is silent
	}{
		{"Take", func(ctx context.Context, s Store, _ segment.Range) error {
			return take(ctx, s, "silent", 10)
		}, []string{"update"}},
		{"GiveBack", func(ctx context.Context, s Store, own segment.Range) error {
			_, err := s.GiveBack(ctx, "silent", own)
			return err
		}, []string{"update", "commit"}},
		{"Advance", func(ctx context.Context, s Store, own segment.Range) error {
			return s.Advance(ctx, "silent", own.Last+100)
		}, []string{"update", "commit"}},
		{"Create", func(ctx context.Context, s Store, _ segment.Range) error {
			return s.Create(ctx, segment.Tag{Name: "silent", Step: 1})
		}, []string{"insert", "rollback"}},
		{"Tags", func(ctx context.Context, s Store, _ segment.Range) error {
			_, err := s.Tags(ctx)
			return err
		}, []string{"select"}},
	} {
		for _, word := range c.at {
			w := &Wire{}
			s := d.Open(t, w, 0)
			own, err := s.Take(Within(t), "silent", 10)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			w.Mute(func(request []byte) bool {
				met := bytes.Contains(bytes.ToLower(request), []byte(word))
				if met {
					go cancel() // when it is sent
				}
				return met
			})
			ended := make(chan error, 1)
			go func() { ended <- c.call(ctx, s, own) }()
			select {
			case err := <-ended:
				// A connection may be closed instead of rolled back.
				if ctx.Err() == nil && word != "rollback" || err == nil {
					t.Errorf("%s, silent after %q: it ended with %v", c.name, word, err)
				}
			case <-time.After(2 * time.Minute):
				t.Fatalf("%s, silent after %q: it does not end with its context", c.name, word)
			}
			cancel()
			w.Mute(nil)
			r, err := s.Take(Within(t), "silent", 10)
			if err != nil || r.First <= own.Last && c.name != "GiveBack" {
				t.Errorf("%s, silent after %q: %v, and then %v, %v", c.name, word, own, r, err)
			}
			d.Exec(t, d.Idle)
		}
	}
}

package sqlsegmenttest

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/unalike-id/unalike/segment"
)

// Silent has the server fall silent at each point of each call: the call ends with its context, and the next one is served by another connection.
func Silent(t *testing.T, d *Database) {
	s := d.create(t, "silent", 10)
	calls := map[string]func(ctx context.Context, s Store, own segment.Range) error{
		"Take": func(ctx context.Context, s Store, _ segment.Range) error {
			_, err := s.Take(ctx, "silent", 10)
			return err
		},
		"GiveBack": func(ctx context.Context, s Store, own segment.Range) error {
			_, err := s.GiveBack(ctx, "silent", own)
			return err
		},
		"Advance": func(ctx context.Context, s Store, own segment.Range) error {
			return s.Advance(ctx, "silent", own.Last+100)
		},
		"Create": func(ctx context.Context, s Store, _ segment.Range) error {
			return s.Create(ctx, segment.Tag{Name: "silent", Step: 1})
		},
		"Tags": func(ctx context.Context, s Store, _ segment.Range) error { _, err := s.Tags(ctx); return err },
	}
	points := map[string][]string{
		"Take": {"update"}, "GiveBack": {"start transaction\x00begin", "update", "commit"}, "Advance": {"update", "commit"}, "Create": {"insert", "rollback"}, "Tags": {"select"},
	}
	for name, call := range calls {
		for _, point := range points[name] {
			what := fmt.Sprintf("%s, silent after %q", name, point)
			w := &Wire{}
			muted := d.Open(t, w, 0)
			own, err := muted.Take(within(t), "silent", 10)
			if err != nil {
				t.Fatal(err)
			}
			met := make(chan struct{}, 100)
			w.Mute(func(request []byte) bool {
				for word := range bytes.SplitSeq([]byte(point), []byte{0}) {
					if bytes.Contains(bytes.ToLower(request), word) {
						met <- struct{}{}
						return true
					}
				}
				return false
			})
			ctx, cancel := context.WithCancel(within(t))
			ended := make(chan error, 1)
			go func() { ended <- call(ctx, muted, own) }()
			select {
			case <-met:
			case err := <-ended:
				cancel()
				if point != "rollback" { // it may close the connection instead
					t.Errorf("%s: it ended before, with %v", what, err)
				}
				continue
			}
			cancel()
			select {
			case err := <-ended:
				if err == nil && name != "Create" {
					t.Errorf("%s: it was done", what)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s: it does not end with its context", what)
			}
			w.Mute(nil)
			if r, err := muted.Take(within(t), "silent", 10); err != nil || r.First <= own.Last && name != "GiveBack" {
				t.Errorf("%s: after it: %v, %v; before it: %v", what, r, err, own)
			}
			d.Exec(t, d.Idle)
		}
	}
	if _, err := s.Take(within(t), "silent", 10); err != nil {
		t.Error(err)
	}
}

package config_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

// opened are the stores behind the URLs of the scheme memory, by host.
var opened = map[string]*segmenttest.Fake{}

func init() {
	driver.RegisterStore("memory", func(_ context.Context, u *driver.URL) (segment.Store, error) {
		f := opened[u.Hosts[0]]
		if f == nil {
			return nil, fmt.Errorf("%w: memory URL: nothing is kept at %s", segment.ErrInvalidConfig,
				u.Hosts[0])
		}
		if u.Logger != nil {
			u.Logger.Info("memory was opened")
		}
		return f, nil
	})
}

// fakeStore has a store with two tags behind a URL.
func fakeStore(host string) *segmenttest.Fake {
	opened[host] = segmenttest.NewFake(segment.Tag{Name: "orders", Next: 1, Step: 10},
		segment.Tag{Name: "line items", Next: 501, Step: 10})
	return opened[host]
}

// TestOpenSegments: there are numbers of the tags that are named when it returns, and of the others
// when they are asked for; Close gives the rest back and closes the store.
func TestOpenSegments(t *testing.T) {
	f := fakeStore("open")
	c := parse(t, "store: memory://user:secret@open\nsegments: line items\n")
	var log bytes.Buffer
	c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s, err := c.OpenSegments(t.Context(), segment.Config{MaxStep: 100})
	if err != nil {
		t.Fatal(err)
	}
	if h := s.Health(); len(h) != 2 || !h[0].Healthy || h[0].Tag != "line items" || h[1].Healthy {
		t.Errorf("%+v; want numbers of line items and none of orders", h)
	}
	for tag, want := range map[string]int64{"line items": 501, "orders": 1} {
		if n, err := s.Next(t.Context(), tag); err != nil || n != want {
			t.Errorf("%s: %d, %v", tag, n, err)
		}
	}
	if s.Store() != segment.Store(f) || !strings.Contains(log.String(), "memory was opened") {
		t.Errorf("store %v, log %s", s.Store(), &log)
	}
	tags, err := f.Tags(t.Context())
	if err != nil || tags[0].Next == 502 {
		t.Fatalf("%v, %v", tags, err)
	}
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := f.Tags(t.Context()); !errors.Is(err, segment.ErrClosed) {
		t.Errorf("the store after Close: %v", err)
	}
	if f.Calls("give back") != 2 {
		t.Errorf("%d ranges were given back", f.Calls("give back"))
	}
	if _, err := s.Next(t.Context(), "orders"); !errors.Is(err, segment.ErrClosed) {
		t.Errorf("Next after Close: %v", err)
	}
}

func TestOpenSegmentsErrors(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		is         error
		want       string
		opens      bool
		set        segment.Config
	}{
		{
			name: "no store", file: "segments: orders\n", is: coord.ErrInvalid,
			want: "config: no store is set; name its URL with the key store of the file, or in " +
				"UNALIKE_STORE",
		},
		{
			name: "unknown scheme", file: "store: mysql://u:secret@h/db\n", is: coord.ErrInvalid,
			want: "config: line 1: store: segment: invalid: URL: unknown scheme \"mysql\" for a store of " +
				"segments; known are memory",
		},
		{
			name: "hold", file: "store: memory://u:secret@errors\n", is: coord.ErrInvalid,
			want: "Hold is 1ns; at least 1s is allowed", opens: true, set: segment.Config{Hold: 1},
		},
		{
			name: "unknown tags",
			file: "segments: orders, invoices, returns\nstore: memory://u:secret@errors\n",
			is:   segment.ErrUnknownTag, opens: true,
			want: "config: line 1: segments: segment: unknown tag: \"invoices\", \"returns\"; make it in " +
				"the store, with 'unalike segments create' for example",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := fakeStore("errors")
			s, err := parse(t, tt.file).OpenSegments(t.Context(), tt.set)
			if s != nil || !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) ||
				strings.Contains(err.Error(), "secret") {
				t.Errorf("%v\nwant %s", err, tt.want)
			}
			if _, err := f.Tags(t.Context()); errors.Is(err, segment.ErrClosed) != tt.opens {
				t.Errorf("the store behind the error: %v", err)
			}
		})
	}
}

// TestOpenSegmentsWaits: a store that does not answer is waited for until the context ends, and
// what was taken is given back.
func TestOpenSegmentsWaits(t *testing.T) {
	f := fakeStore("waits")
	c := parse(t, "store: memory://waits\nsegments: line items,orders\n")
	c.Logger = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	f.Intercept(func(_ context.Context, op, tag string, do func() error) error {
		if op == "take" && tag == "orders" {
			cancel()
			return errors.New("the line is cut")
		}
		return do()
	})
	if _, err := c.OpenSegments(ctx, segment.Config{}); !errors.Is(err, segment.ErrUnavailable) ||
		!errors.Is(err, context.Canceled) || errors.Is(err, coord.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if f.Calls("give back") != 1 {
		t.Errorf("%d ranges were given back", f.Calls("give back"))
	}
}

// A program that numbers its orders from a table, and says so in the file that has its coordinator
// as well.
func ExampleConfig_OpenSegments() {
	cfg, err := config.Parse([]byte("store: mysql://user:secret@db/app?table=leaf_alloc\nsegments: " +
		"orders, invoices\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg)
	_ = func(ctx context.Context) error {
		numbers, err := cfg.OpenSegments(ctx, segment.Config{})
		if err != nil {
			return err
		}
		defer numbers.Close(context.WithoutCancel(ctx))
		n, err := numbers.Next(ctx, "orders")
		fmt.Println(n)
		return err
	}
	// Output: store="mysql://user:xxxxx@db/app?table=leaf_alloc" segments="orders,invoices"
}

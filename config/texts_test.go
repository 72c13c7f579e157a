package config_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/config"
	"github.com/unalike-id/unalike/segment"
)

// TestTexts: tags that have a format give numbers in it, in the group of the zone.
func TestTexts(t *testing.T) {
	f := fakeStore("texts")
	c := parse(t, "store: memory://user:secret@texts\nformats: \"orders={YYYY-MM-DD}-{n:3}, line "+
		"items=L{n:4}{luhn}\"\nzone: Europe/Berlin\n")
	s, err := c.OpenSegments(t.Context(), segment.Config{MaxStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]string, 2)
	before := time.Now().In(c.Zone).Format(time.DateOnly)
	n, err := s.FillText(t.Context(), "orders", dst)
	if n != 2 || err != nil || !strings.HasPrefix(dst[0], before) &&
		!strings.HasPrefix(dst[0], time.Now().In(c.Zone).Format(time.DateOnly)) || dst[0][10:] != "-001" {
		t.Errorf("%q, %d, %v", dst, n, err)
	}
	if n, err := s.FillText(t.Context(), "line items", dst); n != 2 || err != nil ||
		dst[0] != "L05017" {
		t.Errorf("%q, %d, %v", dst, n, err)
	}
	var seen []string
	for _, h := range s.Health() {
		seen = append(seen, fmt.Sprintf("%.7s %d", h.Tag, h.Issued))
	}
	if !slices.Contains(seen, "orders. 2") || !slices.Contains(seen, "line it 2") ||
		slices.Contains(seen, "line it 0") || !slices.IsSorted(seen) {
		t.Errorf("health is of %q", seen)
	}
	if _, err := s.FillText(t.Context(), "invoices", dst); !errors.Is(err, segment.ErrUnknownTag) ||
		!strings.Contains(err.Error(), "has no format") {
		t.Errorf("a tag without a format: %v", err)
	}
	for _, count := range []int{998, 997} { // 1000 does not fit
		want := count % 998
		n, err := s.FillText(t.Context(), "orders", make([]string, count))
		if n != want || errors.Is(err, segment.ErrExhausted) != (want == 0) {
			t.Errorf("%d: %d, %v", count, n, err)
		}
	}
	for range 10 {
		if _, err := s.FillText(t.Context(), "orders", dst[:1]); !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("at the end: %v", err)
		}
	}
	for _, h := range s.Health() {
		if strings.HasPrefix(h.Tag, "orders.") && (h.Issued != 999 || h.Unused != 0 || h.Most != 999) {
			t.Errorf("at the end: %+v", h)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if n := f.Calls("give back"); n < 2 {
		t.Errorf("%d ranges were given back", n)
	}
}

// TestTextsAndNumbers: a tag that is asked for texts and for numbers has one health, which counts
// both and is as bad as the worse one.
func TestTextsAndNumbers(t *testing.T) {
	f := fakeStore("both")
	c := parse(t, "store: memory://both\nformats: orders=L{n:4}\n")
	c.Logger = slog.New(slog.DiscardHandler)
	s, err := c.OpenSegments(t.Context(), segment.Config{MaxStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	check := func(issued int, healthy bool) (last time.Time) {
		t.Helper()
		h := s.Health() // of line items, too
		if len(h) != 2 || h[1].Tag != "orders" || h[1].Issued != uint64(issued) ||
			h[1].Healthy != healthy || h[1].Failing == nil != healthy {
			t.Errorf("%d were issued, healthy %t: %+v", issued, healthy, h)
		}
		return h[1].LastRefill
	}
	texts, err := s.FillText(t.Context(), "orders", make([]string, 2))
	if err != nil {
		t.Fatal(err)
	}
	check(texts, true)
	number := func() {
		if _, err := s.Next(t.Context(), "orders"); err != nil {
			t.Error(err)
		}
	}
	number()
	check(texts+1, true)
	f.Intercept(func(context.Context, string, string, func() error) error {
		return errors.New("the line is cut")
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	more, err := s.FillText(ctx, "orders", make([]string, 100))
	if err == nil {
		t.Error("there are texts without a store")
	}
	cut := check(texts+more+1, false)
	f.Intercept(nil)
	for range 40 {
		number()
	}
	if last := s.Health()[1].LastRefill; !last.After(cut) {
		t.Errorf("refilled last at %v, and at %v before", last, cut)
	}
}

// TestTextsErrors: mistakes in formats and zone are said with their key.
func TestTextsErrors(t *testing.T) {
	for text, want := range map[string]string{
		"formats: orders":                          "it is tags with formats, with commas between them",
		"formats: 'orders={n},orders={n:3}'":       "a tag stands in it twice",
		"formats: 'a={YYYY}{n:6},b={YYYYMM}{n:4}'": "can write the same text",
		"max_step: orders":                         "it is tags with the size of their largest segment",
		"max_step: orders=0":                       "it is a whole number from 1 to 1099511627776",
		"hold: orders=9":                           "it is a positive duration with a unit",
		"hold: orders=1s,orders=1s":                "a tag stands in it twice",
		"formats: 'orders={m}'":                    "a format is up to 128 printable characters",
		"hold: orders=9ms":                         "it is at least 1s",
		"year_start: 13":                           "it is a month from 1 to 12",
		"zone: Mars":                               "it is the name of a time zone",
		"zone: Local":                              "it is the name of a time zone",
	} {
		key, _, _ := strings.Cut(text, ":")
		if _, err := config.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", text, err)
		}
	}
	fakeStore("unmade")
	_, err := parse(t, "store: memory://u:secret@unmade\nformats: 'invoices={YY}-{n}'\n").OpenSegments(
		t.Context(), segment.Config{})
	if !errors.Is(err, segment.ErrUnknownTag) ||
		!strings.Contains(err.Error(), "config: line 2: formats") {
		t.Errorf("a tag that is not there: %v", err)
	}
}

// TestTexts_FillTextOn: numbers of a past group are written with its date, and those of a tag whose
// format has no date belong to no day.
func TestTexts_FillTextOn(t *testing.T) {
	fakeStore("days")
	c := parse(t, "store: memory://user:secret@days\nformats: \"orders={YYYY-MM-DD}-{n:1}, line "+
		"items=L{n:4}\"\n")
	s, err := c.OpenSegments(t.Context(), segment.Config{MaxStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	day, dst := time.Date(2020, time.May, 31, 0, 0, 0, 0, time.UTC), make([]string, 10)
	n, err := s.FillTextOn(t.Context(), "orders", day, dst)
	if n != 9 || dst[0] != "2020-05-31-1" || dst[8] != "2020-05-31-9" ||
		!errors.Is(err, segment.ErrExhausted) {
		t.Errorf("orders: %d, %q, %v", n, dst, err)
	}
	_, err = s.FillTextOn(t.Context(), "line items", day, dst)
	if !errors.Is(err, segment.ErrNoGroups) {
		t.Errorf("line items: %v", err)
	}
	_, err = s.FillTextOn(t.Context(), "invoices", day, dst)
	if !errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("invoices: %v", err)
	}
}

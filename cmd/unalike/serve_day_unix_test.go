//go:build unix

package main

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

// TestServe_NumberOfADay: the service gives numbers of past groups, which begin at 1, and says what
// is wrong with a day.
func TestServe_NumberOfADay(t *testing.T) {
	t.Parallel()
	db := pgtest.Start(t)
	conn, err := pgx.Connect(t.Context(), db.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), "CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, "+
		"max_id bigint NOT NULL DEFAULT 1, step integer NOT NULL, description varchar(256), "+
		"update_time timestamptz); INSERT INTO leaf_alloc VALUES ('orders', 1, 10), "+
		"('plain', 1, 10)"); err != nil {
		t.Fatal(err)
	}
	s := startFile(t, "store: %s\nformats: \"orders={YYYY-MM-DD}-{n:4},plain=P{n:4}\"\n", db.URL())
	defer s.stop()
	const orders, plain = "/v1/sequences/orders/texts", "/v1/sequences/plain/texts"
	s.await(orders, "", isOK)
	ago := func(days int) string {
		return time.Now().UTC().AddDate(0, 0, -days).Format(time.DateOnly)
	}
	past, pruned := ago(40), ago(400)
	if got := call(t, nil, "", "segments", "prune", "orders", "--before", ago(300), "--yes", "--store",
		db.URL()); got.code != exitOK {
		t.Fatalf("prune: %+v", got)
	}
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{orders + "?on=" + past, http.StatusOK, `{"texts":["` + past + `-0001"]}`},
		{
			orders + "?count=2&on=" + past, http.StatusOK,
			`{"texts":["` + past + `-0002","` + past + `-0003"]}`,
		},
		{orders + "?on=" + ago(-2), http.StatusBadRequest, "has not begun"},
		{orders + "?on=" + pruned, http.StatusNotFound, "was pruned"},
		{orders + "?on=2026-13-01", http.StatusBadRequest, "on is a single day"},
		{plain + "?on=" + past, http.StatusBadRequest, "are not grouped by date"},
		{plain, http.StatusOK, `{"texts":["P0001"]}`},
		{"/v1/sequences/none/texts?on=" + past, http.StatusNotFound, "there is no such tag"},
	} {
		if status, body := s.get(c.path, ""); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s; want %d with %s", c.path, status, body, c.status, c.want)
		}
	}
}

//go:build unix

package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/unalike-id/unalike/internal/testserver/pgtest"
)

// TestServe_StoreTrouble: whatever an operator does to the database, generators go on, the page,
// the metrics and the log name the cause, and there are numbers as soon as it is repaired.
func TestServe_StoreTrouble(t *testing.T) {
	t.Parallel()
	db := pgtest.Start(t)
	conn, err := pgx.Connect(t.Context(), db.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	run("CREATE TABLE leaf_alloc (biz_tag varchar(128) PRIMARY KEY, max_id bigint NOT NULL " +
		"DEFAULT 1, step integer NOT NULL, description varchar(256), update_time timestamptz)")
	for _, tag := range []string{"orders", "users"} {
		if got := call(t, nil, "", "segments", "create", tag, "--step", "1", "--store",
			db.URL()); got.code != exitOK {
			t.Fatalf("create: %+v", got)
		}
	}
	run("CREATE ROLE weak LOGIN; GRANT ALL ON SCHEMA public TO weak;" +
		"GRANT ALL ON ALL TABLES IN SCHEMA public TO weak")
	const orders, users = "/v1/sequences/orders/numbers", "/v1/sequences/users/numbers"
	trouble := []struct{ breaks, repairs, cause, reason, page string }{
		{
			"REVOKE ALL ON leaf_alloc FROM weak", "GRANT ALL ON leaf_alloc TO weak",
			"permission denied for table leaf_alloc", "refused",
			"the store refuses, and somebody has to repair it",
		},
		{
			"ALTER TABLE leaf_alloc RENAME TO away", "ALTER TABLE away RENAME TO leaf_alloc",
			"is missing; have somebody run", "refused",
			"the store refuses, and somebody has to repair it",
		},
		{
			"UPDATE leaf_alloc SET max_id = -7 WHERE biz_tag = 'orders'",
			"UPDATE leaf_alloc SET max_id = extract(epoch FROM clock_timestamp()) * 1000000" +
				" WHERE biz_tag = 'orders'",
			"max_id in table leaf_alloc, is -7", "damaged", "what the store has of it is damaged",
		},
	}
	settings := "coordinator: static://?worker=7&fresh=true\nready: any\nstore: " +
		strings.Replace(db.URL(), "postgres@", "weak@", 1) + "\n"
	for _, first := range []bool{true, false} { // before the start, and while it runs
		for _, tt := range trouble {
			if first {
				run(tt.breaks)
			}
			s := startFile(t, "%s", settings).ready()
			if !first {
				s.await(orders, "", isOK)
				run(tt.breaks)
			}
			last := s.take(0)
			s.await(orders, "", func(status int, body string) bool {
				if status == http.StatusOK {
					return false // a number from memory
				}
				if status != http.StatusServiceUnavailable {
					t.Errorf("%s: %d %s", tt.breaks, status, body)
				}
				return strings.Contains(body, tt.cause)
			})
			s.has("/metrics", `_failing{reason="`+tt.reason+`"`)
			s.has("/", tt.page)
			s.has("/", tt.cause)
			s.logged(tt.cause, "level=")
			last = s.take(last)
			if tt.reason == "damaged" {
				s.await(users, "", isOK)
			}
			run(tt.repairs)
			s.await(orders, "", isOK)
			s.take(last)
			s.stop()
		}
	}
}

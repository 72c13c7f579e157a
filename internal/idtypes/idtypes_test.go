// Package idtypes holds an ID to what clients and encoders that programs use make of it, on real
// servers.
package idtypes

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/testserver/mysqltest"
	"github.com/unalike-id/unalike/internal/testserver/pgtest"
	"github.com/unalike-id/unalike/internal/testserver/redistest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const id = core.ID(404187712413696001)

// order is what a program stores.
type order struct {
	ID core.ID `redis:"id" msgpack:"id" cbor:"id"`
}

// TestRedis: an ID is stored as the program says, and never as bytes that nobody can read; text and
// the 8 bytes of earlier programs are read.
func TestRedis(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t, redistest.Options{}).Addr})
	defer client.Close()
	for what, err := range map[string]error{
		"SET":  client.Set(ctx, "k", id, 0).Err(),
		"HSET": client.HSet(ctx, "h", "id", id).Err(),
		"ZADD": client.ZAdd(ctx, "z", redis.Z{Score: 1, Member: id}).Err(),
	} {
		if err == nil {
			t.Errorf("%s of an ID itself succeeds; want a refusal, or text", what)
		}
	}
	bytes := id.Bytes()
	for _, stored := range []any{id.String(), id.Int64(), bytes[:]} {
		var got core.ID
		if err := client.Set(ctx, "k", stored, 0).Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.Get(ctx, "k").Scan(&got); err != nil || got != id {
			t.Errorf("a %T is read as %d, %v", stored, got, err)
		}
	}
	var got order
	err := client.HSet(ctx, "o", "id", id.String()).Err()
	if err == nil {
		err = client.HGetAll(ctx, "o").Scan(&got)
	}
	if err != nil || got.ID != id {
		t.Errorf("a field of a struct is read as %d, %v", got.ID, err)
	}
}

// TestEncoders: what is written is text or a number, and is read again.
func TestEncoders(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]struct {
		write func(any) ([]byte, error)
		read  func([]byte, any) error
	}{
		"msgpack": {msgpack.Marshal, msgpack.Unmarshal},
		"cbor":    {cbor.Marshal, cbor.Unmarshal},
	} {
		b, err := e.write(order{id})
		if err != nil {
			t.Fatal(err)
		}
		raw := id.Bytes()
		var other map[string]any // as a program in another language reads it
		err = e.read(b, &other)
		text := fmt.Sprint(other["id"])
		if b, bytes := other["id"].([]byte); bytes {
			text = string(b)
		}
		if err != nil || text != id.String() {
			t.Errorf("%s: %#v, %v; want text or a number", name, other["id"], err)
		}
		var got order
		if err := e.read(b, &got); err != nil || got.ID != id {
			t.Errorf("%s: %q is read as %d, %v", name, b, got.ID, err)
		}
		earlier, err := e.write(map[string]any{"id": raw[:]})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.read(earlier, &got); err != nil || got.ID != id {
			t.Errorf("%s: 8 bytes are read as %d, %v", name, got.ID, err)
		}
	}
}

// TestMySQL reads and writes columns of all types in both protocols.
func TestMySQL(t *testing.T) {
	t.Parallel()
	s := mysqltest.Start(t)
	for _, params := range []string{"", "?interpolateParams=true"} {
		db, err := sql.Open("mysql", s.DSN(params))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, statement := range []string{
			"DROP TABLE IF EXISTS o",
			"CREATE TABLE o (u BIGINT UNSIGNED PRIMARY KEY, s BIGINT, c VARCHAR(20), d DECIMAL(20,0), " +
				"z BIGINT ZEROFILL)",
			"DROP TABLE IF EXISTS a", "CREATE TABLE a (id BIGINT AUTO_INCREMENT PRIMARY KEY)",
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		_, err = db.ExecContext(t.Context(), "INSERT INTO o VALUES (?, ?, ?, ?, ?)", id, id, id, id, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range []string{"u", "s", "c", "d", "z"} {
			for _, args := range [][]any{nil, {id}} {
				var got core.ID
				query := "SELECT " + column + " FROM o" + strings.Repeat(" WHERE u = ?", len(args))
				err := db.QueryRowContext(t.Context(), query, args...).Scan(&got)
				zeros := column == "z" && err != nil && strings.Contains(err.Error(), "leading zero")
				if (err != nil || got != id) && !zeros {
					t.Errorf("%s with %v, %q: %d, %v", query, args, params, got, err)
				}
			}
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO a VALUES (?)", core.ID(0)); err == nil {
			t.Error("an ID that was never set is stored")
		}
	}
}

// TestPgx reads and writes IDs and lists of them in all modes, with and without a pooler.
func TestPgx(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, err := pgx.Connect(ctx, pgtest.Start(t).URL())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(ctx))
	for _, mode := range []pgx.QueryExecMode{
		pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol,
	} {
		var got core.ID
		err := c.QueryRow(ctx, "SELECT $1::bigint", mode, id).Scan(&got)
		if err != nil || got != id {
			t.Errorf("%v: %d, %v", mode, got, err)
		}
		var all []core.ID
		want := []core.ID{id, 1}
		err = c.QueryRow(ctx, "SELECT $1::bigint[]", mode, core.Int64s(want)).Scan(&all)
		if err != nil || !slices.Equal(all, want) {
			t.Errorf("%v: %v, %v", mode, all, err)
		}
	}
}

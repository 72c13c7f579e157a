package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/unalike-id/unalike/coord"
)

// schema makes the tables. Times are microseconds since 1970.
const schema = `CREATE TABLE IF NOT EXISTS unalike_namespaces (
  namespace text PRIMARY KEY,
  made bigint NOT NULL, version bigint NOT NULL, stamp bigint NOT NULL,
  record text NOT NULL, lineage text NOT NULL
);
CREATE TABLE IF NOT EXISTS unalike_slots (
  namespace text NOT NULL, worker integer NOT NULL,
  made bigint NOT NULL, version bigint NOT NULL, stamp bigint NOT NULL,
  record text NOT NULL, token text NOT NULL, lease_ends bigint NOT NULL,
  PRIMARY KEY (namespace, worker)
);
CREATE UNIQUE INDEX IF NOT EXISTS unalike_slots_token ON unalike_slots (namespace, token) WHERE token <> '';
CREATE TABLE IF NOT EXISTS unalike_identities (
  namespace text NOT NULL, identity text NOT NULL, worker integer NOT NULL,
  PRIMARY KEY (namespace, identity)
);`

// noTables reports whether err says that the tables are not there.
func noTables(err error) bool { return codeOf(err) == "42P01" }

// codeOf is the SQLSTATE of an error of the server; empty: it is none.
func codeOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// makeTables makes the tables.
func (s *store) makeTables(ctx context.Context) error {
	_, err := s.db.Exec(ctx, schema, pgx.QueryExecModeSimpleProtocol)
	switch code := codeOf(err); {
	case err == nil, code == "23505", code == "42P07": // somebody else makes them at the same time
		return nil
	case code == "42501" || code == "25006":
		return fmt.Errorf("%w: the tables are not there and cannot be made (%w); have somebody run:\n%s", coord.ErrInvalid, err, strings.TrimSpace(schema))
	}
	return err
}

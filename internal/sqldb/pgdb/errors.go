package pgdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/sqldb"
)

// located adds to an error where the server of a pool is.
func located(pool *pgxpool.Pool, err error) error {
	if err == nil {
		return nil
	}
	at := pool.Config().ConnConfig
	if _, said := errors.AsType[*pgconn.ConnectError](err); said { // which says where
		if strings.Contains(err.Error(), readOnly) {
			return &sqldb.Fault{
				Class: sqldb.ReadOnly, Says: "none of the servers can be written to",
				Err: oneLine{err},
			}
		}
		return asked(at, oneLine{err})
	}
	err = fmt.Errorf("PostgreSQL at %s: %w", net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))),
		err)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42883" &&
		e.Routine == "ParseFuncOrColumn" {
		return &sqldb.Fault{
			Class: sqldb.Refused, Says: "PostgreSQL 12 or later is needed, and this server lacks a function",
			Err: err,
		}
	}
	if s := pool.Stat(); errors.Is(err, context.DeadlineExceeded) &&
		s.AcquiredConns()+s.IdleConns() == 0 {
		return asked(at, fmt.Errorf("%w: there is no connection yet", err))
	}
	return err
}

// asked adds to an error of connecting what to ask where something else may listen: the server
// has not said what is wrong, and somebody has accepted the connection.
func asked(at *pgx.ConnConfig, err error) error {
	_, told := errors.AsType[*pgconn.PgError](err)
	_, nameless := errors.AsType[*net.DNSError](err)
	if dial, failed := errors.AsType[*net.OpError](err); told || nameless || failed &&
		dial.Op == "dial" {
		return err
	}
	return fmt.Errorf("%w; %s", err, drivers.Question("a PostgreSQL", at.TLSConfig != nil))
}

// readOnly is what the client says of a server that cannot be written to.
const readOnly = "read only connection"

// oneLine is an error whose text has several lines, one for each server.
type oneLine struct{ err error }

func (e oneLine) Error() string { return strings.Join(strings.Fields(e.err.Error()), " ") }
func (e oneLine) Unwrap() error { return e.err }

// Class says what an error means.
func (*DB) Class(err error) sqldb.Class {
	if f, ok := errors.AsType[*sqldb.Fault](err); ok {
		return f.Class
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return sqldb.Unknown
	}
	switch e.Code {
	case "22012": // of Abort
		return sqldb.Mismatch
	case "40001", "40P01", "55P03":
		return sqldb.Race
	case "23505", "42P07":
		return sqldb.Duplicate
	case "42P01":
		return sqldb.NoTables
	case "42703", "42804", "42883", "42P22", "21000": // the last: a row for one key that is not alone
		return sqldb.Misfit
	case "42501", "3F000":
		return sqldb.Denied
	case "25006", "55000": // a standby does not know its position either
		return sqldb.ReadOnly
	case "28000", "28P01", "3D000", "22P05":
		// the last: the database's encoding does not have a character
		return sqldb.Refused
	}
	return sqldb.Unknown
}

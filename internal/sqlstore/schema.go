package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/sqldb"
)

// makeTables makes the tables and the view, for a survey that has begun before and has not
// found them. Of many that begin at once, one does.
func (s *store) makeTables(ctx context.Context, began time.Time) error {
	select {
	case s.making <- struct{}{}:
		defer func() { <-s.making }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.madeTables.After(began) {
		return nil
	}
	ddl := s.ddl()
	statements := make([]Statement, 0, len(ddl)+1)
	for _, sql := range ddl {
		statements = append(statements, Statement{SQL: sql})
	}
	_, err := s.db.Transact(ctx, true, statements)
	if err == nil {
		s.madeTables = lifetime.Now()
	}
	switch s.db.Class(err) {
	case sqldb.Duplicate, sqldb.Race: // somebody else makes them at the same time
		return nil
	case sqldb.Denied:
		return invalid.Errorf("the tables of unalike are not there, and cannot be made (%w); have "+
			"somebody run:\n%s;\n-- and for the user of the program:\n%s", err,
			strings.Join(ddl, ";\n"), s.grants())
	}
	return s.explain(err)
}

// noteEmptied puts the history's row of the tables back, which was deleted, perhaps together with
// those of namespaces. Its stamp is 0 until then, and from then on the time.
func (s *store) noteEmptied(ctx context.Context) error {
	_, err := s.db.Transact(ctx, true, []Statement{s.stmt(`{insert} {history} (namespace, version,
  stamp, record) SELECT '*', $2, {now}, '{}' {present}`, format)})
	if err != nil {
		return s.explain(err)
	}
	s.log.Warn("rows were deleted; new namespaces wait before they grant worker IDs", "table",
		s.prefix+"history", "namespace", s.namespace)
	return nil
}

// ddl is what makes the tables and the view.
func (s *store) ddl() []string {
	var all []string
	for _, sql := range s.dialect.Schema {
		all = append(all, s.names.Replace(sql))
	}
	return all
}

// grants gives a user the rights that a program needs, as comments: only who runs it knows the
// user.
func (s *store) grants() string {
	var lines []string
	for _, sql := range s.dialect.Grants {
		lines = append(lines, "-- GRANT "+s.names.Replace(sql)+" TO user;")
	}
	return strings.Join(lines, "\n")
}

// explain says what to do about an error of the database.
func (s *store) explain(err error) error {
	switch s.db.Class(err) {
	case sqldb.NoTables: // another process is making them, or they were dropped since the survey
		//mutant:sql-half-made
		return fmt.Errorf("the tables %s* are not there; retrying: %w", s.prefix, err)
	case sqldb.Misfit:
		return invalid.Errorf("the tables %s* have other columns than those of format %d, which this "+
			"program reads: use another prefix, or the version of the program that has made them: %w",
			s.prefix, format, err)
	case sqldb.Denied:
		return invalid.Errorf("the user needs the rights to SELECT, INSERT and UPDATE the tables %s*, "+
			"and to use the sequence %stickets: %w", s.prefix, s.prefix, err)
	case sqldb.Refused:
		return invalid.Errorf("%w", err)
	}
	return err
}

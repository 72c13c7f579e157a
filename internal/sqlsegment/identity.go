package sqlsegment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/unalike-id/unalike/internal/sqldb"
	"github.com/unalike-id/unalike/segment"
)

// mark is which server a tag is to be on, and when that was said. Stamps rise, so that a server that was left
// is not taken for the one that follows.
type mark struct {
	identity string
	stamp    int64
}

// expected is which server a tag is to be on.
func (s *Store) expected(tag string) mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.own[tag]; ok && m.stamp > s.base.stamp {
		return m
	}
	return s.base
}

// adopt notes which server a tag is to be on; all tags if it is empty.
func (s *Store) adopt(tag string, m mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tag == "" {
		s.base = m
		clear(s.own)
		return
	}
	s.own[tag] = m
}

// key is the name of a row of our own table; that of all tags if tag is empty.
func (s *Store) key(tag string) string {
	if tag == "" {
		return s.table.name
	}
	return s.table.name + ":" + tag
}

// look looks at the server before the first call: its identity, what its columns hold, what it may lose.
func (s *Store) look(ctx context.Context) error {
	if s.looked.Load() {
		return nil
	}
	select {
	case s.looking <- struct{}{}:
		defer func() { <-s.looking }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.looked.Load() {
		return nil
	}
	warnings, err := s.risks(ctx)
	if err != nil {
		return err
	}
	if s.opts.RequireDurable && len(warnings) > 0 {
		return fmt.Errorf("%w: durable is required, and %s", segment.ErrInvalidConfig, strings.Join(warnings, "; "))
	}
	if err := s.readTypes(ctx); err != nil {
		return err
	}
	rows, err := s.db.Query(ctx, s.write("SELECT {identity}"))
	if err != nil {
		return err
	}
	here := rows[0][0]
	base, err := s.origin(ctx, here)
	s.meta.Store(err == nil)
	if errors.Is(err, errNoMeta) {
		warnings = append(warnings, fmt.Sprintf("table %s cannot be made beside table %v, so that a program that starts after a failover does not notice that ranges may be missing: %v; have somebody run: %s",
			metaName, s.table, err, s.write(s.dialect.Meta)))
		base = mark{identity: here}
	} else if err != nil {
		return err
	}
	s.adopt("", base)
	s.mu.Lock()
	s.warnings = warnings
	s.mu.Unlock()
	for _, w := range warnings {
		s.log.Warn("the store of segments has a weakness", "table", s.table.String(), "warning", w)
	}
	s.looked.Store(true)
	return nil
}

// risks asks which settings are such that the server may lose what it has confirmed.
func (s *Store) risks(ctx context.Context) (says []string, err error) {
	for _, r := range s.dialect.Risks {
		rows, err := s.db.Query(ctx, s.write("SELECT CASE WHEN "+r.If+" THEN 1 ELSE 0 END", "$SCHEMA", s.text(s.table.schema), "$TABLE", s.text(s.table.name)))
		if err != nil {
			return nil, err
		}
		if rows[0][0] == "1" {
			says = append(says, r.Says)
		}
	}
	return says, nil
}

// errNoMeta says that there is no table of our own.
var errNoMeta = errors.New("it is not there, and this user may not make it")

// origin returns which server is on record for all tags. If there is none, it is this one.
func (s *Store) origin(ctx context.Context, here string) (mark, error) {
	m, err := s.recorded(ctx)
	if err == nil && m[s.key("")].identity != "" {
		return m[s.key("")], nil
	}
	if err != nil {
		if s.db.Class(err) != sqldb.NoTables {
			return mark{}, s.without(err)
		}
		if err := s.db.Transact(ctx, func(exec Exec) error { _, err := exec(s.write(s.dialect.Meta)); return err }); err != nil && s.db.Class(err) != sqldb.Duplicate {
			return mark{}, s.without(err)
		}
	}
	err = s.db.Transact(ctx, func(exec Exec) error {
		_, err := exec(s.write(s.dialect.Ignore+" {meta} (name, identity, stamp) VALUES ($NAME, $IDENTITY, {now}) "+s.dialect.Ignored,
			"$NAME", s.text(s.key("")), "$IDENTITY", s.text(here)))
		return err
	})
	if err != nil {
		return mark{}, s.without(err)
	}
	m, err = s.recorded(ctx)
	return m[s.key("")], err
}

// without makes of a right that is missing that the table is.
func (s *Store) without(err error) error {
	if c := s.db.Class(err); c == sqldb.Denied || c == sqldb.NoTables {
		return fmt.Errorf("%w (%w)", errNoMeta, err)
	}
	return err
}

// recorded reads which servers are on record for all tags and for some.
func (s *Store) recorded(ctx context.Context, tags ...string) (map[string]mark, error) {
	names := []string{s.text(s.key(""))}
	for _, tag := range tags {
		names = append(names, s.text(s.key(tag)))
	}
	rows, err := s.db.Query(ctx, s.write("SELECT name, identity, stamp FROM {meta} WHERE name IN ("+strings.Join(names, ", ")+") {all}"))
	if err != nil {
		return nil, err
	}
	all := map[string]mark{}
	for _, r := range rows {
		stamp, err := number(r[2])
		if err != nil {
			return nil, err
		}
		all[r[0]] = mark{r[1], stamp}
	}
	return all, nil
}

// moved returns nil if a tag is on the server that it is to be on: the one of the newest mark, whether that was known before, or
// somebody has recorded it since, or Skip says it. The newest may lead away: the server was left once, and is back with what it had
// then, or with less than what the other one has handed out. Stored is the tag as the table spells it.
func (s *Store) moved(ctx context.Context, stored, tag, here string) error {
	was := s.expected(tag)
	all, err := s.recorded(ctx, stored)
	if err != nil && !errors.Is(s.without(err), errNoMeta) {
		return err
	}
	base, own := all[s.key("")], all[s.key(stored)]
	switch {
	case base.stamp > was.stamp && base.stamp >= own.stamp:
		s.adopt("", base)
	case own.stamp > was.stamp:
		s.adopt(tag, own)
	}
	is := s.expected(tag)
	switch {
	case is.identity == here:
		return nil
	case err != nil || s.opts.Skip == 0:
		return &segment.StoreChangedError{Tag: tag, Was: is.identity, Here: here}
	}
	return s.skip(ctx, base, is, here)
}

// skip adds to every tag what may be missing here, once for all programs.
func (s *Store) skip(ctx context.Context, base, was mark, here string) error {
	after := num(max(base.stamp, was.stamp))
	first := false
	err := s.db.Transact(ctx, func(exec Exec) error {
		n, err := exec(s.write("UPDATE {meta} SET identity = $HERE, stamp = CASE WHEN {now} > $AFTER THEN {now} ELSE $AFTER + 1 END WHERE name = $NAME AND stamp = $STAMP",
			"$HERE", s.text(here), "$AFTER", after, "$NAME", s.text(s.key("")), "$STAMP", num(base.stamp)))
		if first = n == 1; err != nil || !first {
			return err // somebody else did it
		}
		bound, skip := s.bound.Load(), s.opts.Skip
		_, err = exec(s.write("UPDATE {table} SET max_id = CASE WHEN max_id < 0 THEN max_id WHEN max_id > $MOST THEN $BOUND ELSE max_id + $SKIP END "+s.dialect.All,
			"$MOST", num(max(0, bound-skip)), "$BOUND", num(bound), "$SKIP", num(skip)))
		return err
	})
	if err != nil {
		return err
	}
	all, err := s.recorded(ctx)
	if err != nil {
		return err
	}
	if m := all[s.key("")]; m.identity == here {
		s.adopt("", m)
		if first {
			s.log.Warn("the store of segments is another server than before; numbers were skipped", "table", s.table.String(), "was", was.identity, "is", here, "skipped", s.opts.Skip)
		}
		return nil
	}
	return &segment.StoreChangedError{Tag: "", Was: was.identity, Here: here}
}

// accept notes that a tag is as it should be on this server, if it is another one than before.
func (s *Store) accept(ctx context.Context, stored, tag, here string) error {
	was := s.expected(tag)
	all, err := s.recorded(ctx, stored)
	if err != nil {
		if !errors.Is(s.without(err), errNoMeta) {
			return err
		}
		s.adopt(tag, mark{here, was.stamp + 1}) // this process alone knows
		return nil
	}
	base, own := all[s.key("")], all[s.key(stored)]
	if own.stamp > base.stamp {
		base = own
	}
	if base.identity == here && was.identity == here {
		return nil
	}
	err = s.db.Transact(ctx, func(exec Exec) error {
		after := num(max(base.stamp, was.stamp))
		_, err := exec(s.write("INSERT INTO {meta} (name, identity, stamp) VALUES ($NAME, $HERE, CASE WHEN {now} > $AFTER THEN {now} ELSE $AFTER + 1 END) "+s.dialect.Replaced,
			"$HERE", s.text(here), "$AFTER", after, "$NAME", s.text(s.key(stored))))
		return err
	})
	if err != nil {
		return err
	}
	if all, err = s.recorded(ctx, stored); err != nil {
		return err
	}
	s.adopt(tag, all[s.key(stored)])
	return nil
}

// Look looks at the server, and returns why it can never do. A server that cannot be reached is looked at by the
// first call that reaches it.
func (s *Store) Look(ctx context.Context) error {
	err := s.call(ctx, func(context.Context) error { return nil })
	if err != nil && (errors.Is(err, segment.ErrInvalidConfig) || ctx.Err() != nil) {
		return err
	}
	return nil
}

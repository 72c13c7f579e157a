package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/sqldb"
)

// surveyRows are what a survey reads beside the namespace.
const surveyRows = historyRows + countRow + `
UNION ALL SELECT 't', worker, 0, 0, 0, 0, '', '' FROM {slots} WHERE namespace = $1 AND token = $2
  AND lease_ends > {now}
UNION ALL SELECT 'l', worker, made, version, stamp, lease_ends, record, '' FROM {slots}
  WHERE namespace = $1 AND identity = $3` +
	heldRows + ` AND worker >= $4 AND worker <= $5`

// Survey implements [protocol.Session].
func (s *session) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	first, last := ask.Share.First, ask.Share.First+ask.Share.Count-1
	if ask.Share.Count == 0 {
		last = MaxCapacity
	}
	look := s.stmt(moment+namespaceRow+surveyRows+s.dialect.riskRows(), ask.Token, ask.Identity, first,
		last)
	if ask.New != nil {
		look.SQL += s.names.Replace(ticketRow)
	}
	if ask.Peek {
		return s.peek(ctx, look, ask)
	}
	before, began := s.tallied(), lifetime.Now()
	a, err := s.ask(ctx, look, ask.New != nil)
	if s.db.Class(err) == sqldb.NoTables {
		if ask.Again == nil {
			return &protocol.Survey{Worker: -1, Last: -1}, nil
		}
		if err := s.makeTables(ctx, began); err != nil {
			return nil, err
		}
		a, err = s.ask(ctx, look, ask.New != nil)
	}
	if err == nil && a.emptied {
		a, err = s.ask(ctx, look, ask.New != nil) // with the row that was put back
	}
	if err == nil {
		err = s.checkRisks(a) //mutant:sql-risks
	}
	if err != nil {
		return nil, s.explain(err)
	}
	made := false
	if gone := !a.meta.There(); gone && a.earlier.kind != "" && ask.Again != nil ||
		gone && a.slots == 0 && ask.New != nil {
		look.SQL += s.names.Replace(otherRows)
		if a, made, err = s.make(ctx, ask, a, look); err != nil {
			return nil, err
		}
	}
	sv, err := s.surveyOf(a, ask)
	if err != nil {
		return nil, err
	}
	sv.Made = made
	if n := s.undone(before, a, 0); n > 0 {
		sv.Origin = missing(sv.Origin, n, "writes")
	}
	return sv, nil
}

// peek is a survey that writes nothing. What it reads may never be kept.
func (s *session) peek(ctx context.Context, look Statement,
	ask protocol.Ask,
) (*protocol.Survey, error) {
	a, err := s.transact(ctx, false, look)
	switch {
	case s.db.Class(err) == sqldb.NoTables:
		return &protocol.Survey{Worker: -1, Last: -1}, nil
	case err != nil:
		return nil, s.explain(err)
	}
	return s.surveyOf(a, ask)
}

// ask makes a statement that reads, and may draw a ticket. If it does not, it is an operator's,
// or tells what became of a grant: what it finds done counts as confirmed.
func (s *store) ask(ctx context.Context, look Statement, draws bool) (*answer, error) {
	statements := []Statement{s.touch(0), look}
	if draws { //mutant:sql-confirms
		statements = statements[1:]
	}
	return s.transact(ctx, true, statements...)
}

// record returns the record of a namespace that is not there. It begins with the floor of a loss if
// an answer shows that it was there before, or that rows of the history were deleted.
func (s *store) record(ask protocol.Ask, a *answer) (protocol.Meta, error) {
	earlier, err := entry[protocol.Meta](a.earlier,
		fmt.Sprintf("the row of namespace %q in %shistory", s.namespace, s.prefix))
	if err != nil {
		return protocol.Meta{}, err
	}
	if earlier.There() { //mutant:sql-history
		return ask.Again(a.Server, earlier.Record), nil
	}
	meta := ask.New(a.Server)
	if a.tables.stamp != 0 { //mutant:sql-emptied
		meta = ask.Again(a.Server, protocol.Meta{Fingerprint: meta.Fingerprint})
	}
	return meta, nil
}

// claim stores the record of a namespace that is about to be made in the history, with a stamp. It
// does nothing if that has changed since an answer. Who makes the same namespace waits.
func (s *store) claim(a *answer, stamp int64, record any) Statement {
	if a.earlier.kind != "" {
		return s.stmt(`UPDATE {history} SET stamp = $2, record = $3 WHERE namespace = $1 AND stamp = $4`,
			stamp, record, a.earlier.stamp)
	}
	return s.stmt(`{insert} {history} (namespace, version, stamp, record) SELECT $1, 0, $2, $3
  FROM {history} h WHERE h.namespace = '*' AND h.stamp = $4 {present}`, stamp, record,
		a.tables.stamp)
}

// insertMeta makes a namespace whose record has a stamp in the history.
const insertMeta = `{insert} {namespaces} (namespace, made, version, stamp, record, lineage)
SELECT h.namespace, {now}, 1, h.stamp, h.record, {lineage} FROM {history} h WHERE h.namespace = $1
  ` +
	//mutant:sql-history-changed
	`AND h.stamp = $2 {present}`

// make makes the namespace, unless somebody else does, and makes a survey. What the answer before
// has shown of the history must still be so in the step that writes.
func (s *session) make(ctx context.Context, ask protocol.Ask, before *answer,
	look Statement,
) (a *answer, made bool, err error) {
	meta, err := s.record(ask, before)
	if err != nil {
		return nil, false, err
	}
	if meta.Capacity > MaxCapacity {
		return nil, false, invalid.Errorf("the layout has %d worker IDs; this driver makes a row for "+
			"each, and at most %d: choose a layout with fewer", meta.Capacity, MaxCapacity)
	}
	record, err := protocol.Encode(meta)
	if err != nil {
		return nil, false, err
	}
	stamp := newStamp()
	a, err = s.transact(ctx, true, s.claim(before, stamp, record), s.stmt(insertMeta, stamp),
		s.complete(meta.Capacity, stamp), look)
	if err != nil {
		return nil, false, s.explain(err)
	}
	if !a.meta.There() {
		return nil, false, fmt.Errorf("namespace %q changed while it was made; retrying", s.namespace)
	}
	now, _ := stored(a.meta)
	return a, now == stamp, nil
}

// complete makes the rows of slots that are not there, if the namespace has a stamp.
func (s *store) complete(capacity int, stamp int64) Statement {
	return s.stmt(`{insert} {slots} (namespace, worker, made, version, stamp, record, token,
  lease_ends)
SELECT n.namespace, series.worker, 0, 0, 0, '', NULL, 0 FROM {namespaces} n,
  `+s.dialect.Series(capacity)+` WHERE n.namespace = $1 AND n.stamp = $2 {present}`, stamp)
}

// surveyOf reads the answer to a survey.
func (s *session) surveyOf(a *answer, ask protocol.Ask) (*protocol.Survey, error) {
	sv := &protocol.Survey{
		Position: a.Position, Meta: a.meta, Origin: a.origin, Slots: a.used, Worker: -1, Last: -1,
		Ticket: a.ticket,
	}
	if !a.meta.There() && a.slots > 0 {
		return nil, s.noNamespace()
	}
	if n := a.meta.Record.Capacity - a.slots; n > 0 {
		sv.Origin = missing(a.origin, int64(n), "rows of worker IDs")
	}
	var others []string
	sv.Others = func(context.Context) []string { return others }
	for _, r := range a.rows {
		switch r.kind {
		case "o":
			others = append(others, r.note)
		case "t":
			sv.Worker = r.worker
		case "l":
			slot, err := s.slot(r)
			if err != nil {
				return nil, err
			}
			if sv.Last < 0 || slot.Record.Since > sv.LastSlot.Record.Since {
				sv.Last, sv.LastSlot = r.worker, slot
			}
		case "h":
			sv.Owned = append(sv.Owned, r.worker)
			if r.note == "" {
				sv.Retired++
			} else {
				sv.Holders = append(sv.Holders, protocol.Holder{Worker: r.worker, Changed: r.ends})
			}
		}
	}
	slices.Sort(sv.Owned)
	slices.SortFunc(sv.Holders, func(a, b protocol.Holder) int {
		return cmp.Compare(a.Worker, b.Worker)
	})
	if ask.Token == "" {
		sv.Worker = -1
	}
	return sv, nil
}

// checkRisks refuses a server that may lose what it has confirmed, unless that is accepted.
func (s *store) checkRisks(a *answer) error {
	var accepted []string
	for _, r := range s.dialect.Risks {
		switch {
		case !slices.ContainsFunc(a.rows, func(got row) bool {
			return got.kind == "r" && got.note == r.Name
		}):
		case slices.Contains(s.accept, r.Name):
			accepted = append(accepted, r.Says)
		default:
			return invalid.Errorf("%s; if that is what you want, accept the risk %q",
				r.Says, r.Name)
		}
	}
	if len(accepted) > 0 {
		s.warned.Do(func() {
			s.log.Warn("the database may lose what it has confirmed, and that was accepted", "namespace",
				s.namespace, "risks", accepted)
		})
	}
	return nil
}

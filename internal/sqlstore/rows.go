package sqlstore

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/unalike-id/unalike/internal/invalid"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/sqldb"
)

// Every query returns rows with the same columns. The first one says what a row is.
const (
	// moment is what each answer tells of the server: made is its clock, ends the version of
	// the tables, and worker is 1 if rows may be hidden.
	moment = `SELECT 'm' AS kind, CASE WHEN {hidden} THEN 1 ELSE 0 END AS worker, {now} AS made,
  0 AS version, 0 AS stamp,
  (SELECT version FROM {history} WHERE namespace = '*') AS ends,
  {number} AS record, {lineage} AS note`
	namespaceRow = ` UNION ALL SELECT 'n', 0, made, version, stamp, 0, record, lineage
  FROM {namespaces} WHERE namespace = $1`
	// slotRows are followed by what more the slots have to be.
	slotRows = ` UNION ALL SELECT 's', worker, made, version, stamp, lease_ends, record, CASE
  WHEN token IS NULL THEN '' ELSE 'held' END
FROM {slots} WHERE namespace = $1`
	// countRow counts the slots, those that were ever granted, and how often they were written.
	countRow = ` UNION ALL SELECT 'c', COUNT(*), COALESCE(SUM(CASE WHEN version > 0 THEN 1
  ELSE 0 END), 0), COALESCE(SUM(version), 0), 0, 0, '', ''
FROM {slots} WHERE namespace = $1`
	// historyRows are the history's row of the tables and that of the namespace.
	historyRows = ` UNION ALL SELECT 'p', 0, 1, version, stamp, 0, record, namespace FROM {history}
  WHERE namespace IN ('*', $1)`
	// ticketRow draws a ticket.
	ticketRow = ` UNION ALL SELECT 'd', 0, {ticket}, 0, 0, 0, '', ''`
	// otherRows are other namespaces, the first ones if there are many.
	otherRows = ` UNION ALL SELECT 'o', 0, 0, 0, 0, 0, '', namespace FROM (SELECT namespace
  FROM {namespaces} WHERE namespace <> $1 ORDER BY namespace LIMIT 1000) rest`
	// heldRows are followed by what more the slots have to be.
	heldRows = ` UNION ALL SELECT 'h', worker, made, version, 0, lease_ends, '', CASE
  WHEN token IS NULL THEN '' ELSE 'held' END
FROM {slots} WHERE namespace = $1 AND lease_ends > {now}`
)

// columns is how many columns rows have.
const columns = 8

// row is one row of an answer.
type row struct {
	kind                       string
	worker                     int
	made, version, stamp, ends int64
	record, note               string
}

// answer is what every query tells, and the rows that are not about that.
type answer struct {
	protocol.Position
	now     int64
	emptied bool  // the history's row of the tables is gone, which is made with them
	ticket  int64 // 0: none was drawn
	// tables and earlier are the history's rows of the tables and of the namespace; zero: there is
	// none, or it was not read.
	tables, earlier row

	meta   protocol.Entry[protocol.Meta]
	origin string
	slots  int   // how many rows there are, if they were counted
	used   int   // how many of them were ever granted
	writes int64 // how often they were written
	rows   []row
}

// parse reads a row.
func parse(cols []string) (r row, err error) {
	if len(cols) != columns {
		return r, fmt.Errorf("the answer has %d columns; it must have %d", len(cols), columns)
	}
	numbers := make([]int64, 5)
	for i, s := range cols[1:6] {
		if s == "" {
			continue // there is none
		}
		if numbers[i], err = strconv.ParseInt(s, 10, 64); err != nil {
			return r, err
		}
	}
	return row{
		cols[0], int(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4], cols[6],
		cols[7],
	}, nil
}

// format is the version of the tables that this program reads and writes.
const format = 3

// read reads an answer to statements that were sent at a time.
func (s *store) read(all [][]string, sent time.Time) (*answer, error) {
	a := &answer{}
	for _, cols := range all {
		r, err := parse(cols)
		if err != nil {
			return nil, err
		}
		switch r.kind {
		case "m":
			if r.worker == 1 { //mutant:sql-hidden
				return nil, invalid.Errorf(""+sqldb.Hidden, s.prefix+"*")
			}
			if a.emptied = r.ends == 0; !a.emptied && r.ends != format {
				return nil, invalid.Errorf("the tables %s* have format %d and this program reads format %d",
					s.prefix, r.ends, format)
			}
			if a.Number, err = s.db.Number(r.record); err != nil {
				return nil, err
			}
			a.now, a.Lineage = r.made, r.note
		case "n":
			a.origin = r.note
			if a.meta, err = entry[protocol.Meta](r, fmt.Sprintf("the row of namespace %q in %snamespaces",
				s.namespace, s.prefix)); err != nil {
				return nil, err
			}
		case "p":
			if r.note == "*" {
				a.tables = r
			} else {
				a.earlier = r
			}
		case "d":
			a.ticket = r.made
		case "c":
			a.slots, a.used, a.writes = r.worker, int(r.made), r.version
		default:
			a.rows = append(a.rows, r)
		}
	}
	if a.now == 0 {
		return nil, fmt.Errorf("the answer does not tell the server's time")
	}
	a.Server = protocol.Span{Low: a.now, High: a.now}
	s.Note(a.Server, sent)
	return a, nil
}

// entry decodes a row; the zero Entry if it was never written. Its raw value is the stamp and
// the record.
func entry[R protocol.Record](r row, what string) (e protocol.Entry[R], err error) {
	if r.version == 0 && r.made == 0 {
		return e, nil
	}
	e = protocol.Entry[R]{
		Made: r.made, Version: r.version,
		Raw: append(binary.BigEndian.AppendUint64(nil, uint64(r.stamp)), r.record...),
	}
	if e.Record, err = protocol.Decode[R]([]byte(r.record)); err != nil {
		return e, invalid.Errorf("%s is damaged: %w; it is not overwritten: restore it from a backup, "+
			"or use another namespace", what, err)
	}
	return e, nil
}

// stored is the stamp and the record of an entry, as they are stored.
func stored[R protocol.Record](e protocol.Entry[R]) (stamp int64, record string) {
	if len(e.Raw) < 8 {
		return 0, ""
	}
	return int64(binary.BigEndian.Uint64(e.Raw)), string(e.Raw[8:])
}

// slot decodes the row of a worker ID.
func (s *store) slot(r row) (protocol.Entry[protocol.Slot], error) {
	what := fmt.Sprintf("the row of worker ID %d of namespace %q in %sslots", r.worker, s.namespace,
		s.prefix)
	e, err := entry[protocol.Slot](r, what)
	if err == nil && e.There() && e.Record.Worker != r.worker {
		err = invalid.Errorf("%s is damaged: it has the slot of worker ID %d", what,
			e.Record.Worker)
	}
	return e, err
}

// noNamespace is the error of a namespace that has rows of worker IDs and no row of its own.
func (s *store) noNamespace() error {
	return fmt.Errorf("%w: namespace %q has slots and no row in %snamespaces; start a generator, or "+
		"restore a backup", protocol.ErrUnrecorded, s.namespace, s.prefix)
}

// viewOf reads the answer to a look at a worker ID.
func (s *store) viewOf(a *answer, worker int) (v *protocol.View, err error) {
	v = &protocol.View{Position: a.Position, Meta: a.meta, Origin: a.origin}
	if len(a.rows) > 0 {
		v.Owned = a.rows[0].ends > a.now
		v.Slot, err = s.slot(a.rows[0])
	} else if a.meta.There() && worker >= 0 && worker < a.meta.Record.Capacity {
		v.Origin = missing(a.origin, 1, "rows of worker IDs")
	}
	return v, err
}

// missing is the lineage on record in a namespace of which something is missing. It differs
// from that of every server, and so the coordinator takes it for a loss.
func missing(lineage string, n int64, what string) string {
	return fmt.Sprintf("%s, with %d %s that are missing", lineage, n, what)
}

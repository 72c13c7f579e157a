package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/unalike-id/unalike/core"
)

// Formats of IDs.
const (
	formatDecimal = "decimal"
	formatBase62  = "base62"
	formatBase32  = "base32"
	formatJSON    = "json"
)

// formats are those that generate writes and decode reads.
func formats() []string { return []string{formatDecimal, formatBase62, formatBase32, formatJSON} }

// timeForm prints the start of a tick: always milliseconds, so that columns align.
const timeForm = "2006-01-02T15:04:05.000Z"

// printer writes IDs as lines of text.
type printer struct {
	format  string
	layout  core.Layout
	explain bool
}

// appendLine appends one line for id to b.
func (p printer) appendLine(b []byte, id core.ID) (line []byte, err error) {
	switch p.format {
	case formatJSON:
		o := idObject{ID: id}
		if p.explain {
			o.partsObject = newParts(p.layout.Decompose(id))
		}
		return appendJSON(b, o)
	case formatBase62:
		b = id.AppendBase62(b)
	case formatBase32:
		b = id.AppendBase32(b)
	default:
		if b, err = id.AppendText(b); err != nil {
			return b, err
		}
	}
	if p.explain {
		b = appendParts(append(b, "  "...), p.layout.Decompose(id))
	}
	return append(b, '\n'), nil
}

// appendParts appends what an ID is made of, for a person.
func appendParts(b []byte, p core.Parts) []byte {
	return fmt.Appendf(b, "%s  worker %d  sequence %d", p.Time.Format(timeForm), p.WorkerID,
		p.Sequence)
}

// appendJSON appends v as a line of JSON.
func appendJSON(b []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(append(b, text...), '\n'), err
}

// idObject is an ID in JSON; the parts are left out unless they were asked for.
type idObject struct {
	ID core.ID `json:"id"`
	*partsObject
}

// partsObject is what an ID is made of, in JSON.
type partsObject struct {
	Time     string `json:"time"` // not a time.Time, whose JSON ends with the year 9999
	WorkerID int    `json:"worker_id"`
	Sequence int    `json:"sequence"`
}

func newParts(p core.Parts) *partsObject {
	return &partsObject{Time: p.Time.Format(timeForm), WorkerID: p.WorkerID, Sequence: p.Sequence}
}

// columns lines up the cells of rows, which tabs separate.
func columns(rows []byte) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = w.Write(rows) // a bytes.Buffer takes everything
	_ = w.Flush()
	return b.Bytes()
}

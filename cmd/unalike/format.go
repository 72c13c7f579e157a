package main

import (
	"encoding/json"
	"fmt"

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

// printer writes IDs as lines of text.
type printer struct {
	format  string
	layout  core.Layout
	explain bool
}

// appendLine appends one line for id to b.
func (p printer) appendLine(b []byte, id core.ID) ([]byte, error) {
	var err error
	switch p.format {
	case formatJSON:
		return p.appendObject(b, id)
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
		parts := p.layout.Decompose(id)
		b = parts.Time.AppendFormat(append(b, "  "...), timeForm)
		b = fmt.Appendf(b, "  worker %d  sequence %d", parts.WorkerID, parts.Sequence)
	}
	return append(b, '\n'), nil
}

func (p printer) appendObject(b []byte, id core.ID) ([]byte, error) {
	o := idObject{ID: id}
	if p.explain {
		o.partsObject = newParts(p.layout.Decompose(id))
	}
	data, err := json.Marshal(o)
	if err != nil {
		return b, err
	}
	return append(append(b, data...), '\n'), nil
}

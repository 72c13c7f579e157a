package main

import (
	"strconv"
	"time"

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
		b = appendPlainParts(append(b, "  "...), parts)
	}
	return append(b, '\n'), nil
}

// appendPlainParts appends what an ID is made of, for a person.
func appendPlainParts(b []byte, p core.Parts) []byte {
	b = append(appendTime(b, p.Time), "  worker "...)
	b = append(strconv.AppendInt(b, int64(p.WorkerID), 10), "  sequence "...)
	return strconv.AppendInt(b, int64(p.Sequence), 10)
}

// appendObject appends a line of JSON as package json writes an idObject, in a small part
// of the time.
func (p printer) appendObject(b []byte, id core.ID) ([]byte, error) {
	b, err := id.AppendText(append(b, `{"id":"`...))
	if err != nil {
		return b, err
	}
	b = append(b, '"')
	if p.explain {
		b = appendParts(b, p.layout.Decompose(id))
	}
	return append(b, "}\n"...), nil
}

// appendParts appends the members of a partsObject, with a comma in front.
func appendParts(b []byte, p core.Parts) []byte {
	b = append(appendTime(append(b, `,"time":"`...), p.Time), `","worker_id":`...)
	b = append(strconv.AppendInt(b, int64(p.WorkerID), 10), `,"sequence":`...)
	return strconv.AppendInt(b, int64(p.Sequence), 10)
}

// appendTime appends the start of a tick in timeForm, which is slow to be interpreted.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, timeForm)
	}
	hour, minute, second := t.Clock()
	b = appendDigits(b, year, 4)
	b = appendDigits(append(b, '-'), int(month), 2)
	b = appendDigits(append(b, '-'), day, 2)
	b = appendDigits(append(b, 'T'), hour, 2)
	b = appendDigits(append(b, ':'), minute, 2)
	b = appendDigits(append(b, ':'), second, 2)
	b = appendDigits(append(b, '.'), t.Nanosecond()/1e6, 3)
	return append(b, 'Z')
}

// appendDigits appends n with so many digits.
func appendDigits(b []byte, n, digits int) []byte {
	at := len(b)
	for range digits {
		b = append(b, '0')
	}
	for i := at + digits - 1; i >= at; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return b
}

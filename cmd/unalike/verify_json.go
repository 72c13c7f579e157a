package main

import (
	"time"

	"github.com/unalike-id/unalike/internal/verify"
)

// verifyObject is the report in JSON.
type verifyObject struct {
	OK bool `json:"ok"`
	*verify.Report
	Clashes []clashObject  `json:"clashes"` // the first duplicates
	Workers []workerObject `json:"workers"`
	Holders []slotObject   `json:"holders"` // of the worker IDs of duplicates
}

// clashObject is a duplicate in JSON.
type clashObject struct {
	idObject
	Times  int64          `json:"times"`
	Places []verify.Place `json:"places"`
	Held   string         `json:"held,omitempty"` // who held the worker ID, in words
}

// workerObject is a worker ID of the IDs in JSON.
type workerObject struct {
	verify.Worker
	First string `json:"first"` // not a time.Time, whose JSON ends with the year 9999
	Last  string `json:"last"`
}

// verifyJSON is the report for programs. No list in it is null.
func verifyJSON(r *verify.Report, ordered bool, held holders) ([]byte, error) {
	out := verifyObject{
		OK: r.OK(ordered) && r.IDs > 0, Report: r,
		Clashes: []clashObject{}, Workers: []workerObject{}, Holders: []slotObject{},
	}
	for _, c := range r.Clashes {
		o := clashObject{
			idObject: idObject{ID: c.ID}, Times: c.Times,
			Places: append([]verify.Place{}, c.Places...), Held: held.describe(c),
		}
		if c.Parts != nil {
			o.partsObject = newParts(*c.Parts)
		}
		out.Clashes = append(out.Clashes, o)
	}
	for _, w := range r.Workers {
		out.Workers = append(out.Workers, workerObject{
			w, w.First.Format(timeForm), w.Last.Format(timeForm),
		})
	}
	for _, slot := range held.of(r) {
		out.Holders = append(out.Holders, newSlotObject(slot, slot.State.String(), time.Now()))
	}
	return appendJSON(nil, out)
}

package main

import (
	"time"

	"github.com/unalike-id/unalike/internal/verify"
)

// verifyObject is the report in JSON.
type verifyObject struct {
	OK           bool             `json:"ok"`
	IDs          int64            `json:"ids"`
	Duplicates   int64            `json:"duplicates"`
	Extra        int64            `json:"extra"` // how often duplicates occur beyond the first time
	Outside      int64            `json:"outside"`
	Early        int64            `json:"early"`
	TooLate      int64            `json:"late"`
	NeverGranted int64            `json:"never_granted"` // IDs of worker IDs that never were
	AfterWindow  int64            `json:"after_window"`  // IDs after the last one of a worker ID
	Unreadable   int64            `json:"unreadable"`
	OutOfOrder   int64            `json:"out_of_order"`
	Unattributed int64            `json:"unattributed"` // IDs of more worker IDs than are kept
	Clashes      []clashObject    `json:"clashes"`      // the first duplicates
	Causes       []verify.Cause   `json:"causes"`
	Examples     []verify.Example `json:"examples"`
	Workers      []workerObject   `json:"workers"`
	Holders      []slotObject     `json:"holders"` // of the worker IDs of duplicates
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
	WorkerID   int    `json:"worker_id"`
	IDs        int64  `json:"ids"`
	First      string `json:"first"` // not a time.Time, whose JSON ends with the year 9999
	Last       string `json:"last"`
	Duplicates int64  `json:"duplicates"`
	OutOfOrder int64  `json:"out_of_order"`
	Ungranted  int64  `json:"ungranted"`
}

// verifyJSON is the report for programs. No list in it is null.
func verifyJSON(r *verify.Report, ordered bool, held holders) ([]byte, error) {
	out := verifyObject{
		OK: r.OK(ordered) && r.IDs > 0, IDs: r.IDs, Duplicates: r.Duplicates, Extra: r.Extra,
		Outside: r.Outside, Early: r.Early, TooLate: r.TooLate,
		NeverGranted: r.NeverGranted, AfterWindow: r.AfterWindow, Unreadable: r.Unreadable,
		OutOfOrder:   r.OutOfOrder,
		Unattributed: r.Unattributed,
		Causes:       append([]verify.Cause{}, r.Causes...),
		Examples:     append([]verify.Example{}, r.Examples...),
		Clashes:      []clashObject{}, Workers: []workerObject{}, Holders: []slotObject{},
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
			WorkerID: w.WorkerID, IDs: w.IDs, First: w.First.Format(timeForm), Last: w.Last.Format(timeForm),
			Duplicates: w.Duplicates, OutOfOrder: w.OutOfOrder, Ungranted: w.Ungranted,
		})
	}
	for _, slot := range held.of(r) {
		out.Holders = append(out.Holders, newSlotObject(slot, slot.State.String(), time.Now()))
	}
	return appendJSON(nil, out)
}

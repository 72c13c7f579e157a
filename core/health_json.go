package core

import (
	"encoding/json"
	"time"
)

// MarshalJSON writes the health for an endpoint: keys in snake_case, durations in
// seconds, errors as their text and left out where there are none.
func (h Health) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Healthy     bool           `json:"healthy"`
		Closed      bool           `json:"closed,omitempty"`
		Err         string         `json:"error,omitempty"`
		Workers     []WorkerHealth `json:"workers"`
		LastRenewal time.Time      `json:"last_renewal"`
		WindowLeft  float64        `json:"window_left_seconds"`
		Lead        float64        `json:"lead_seconds"`
		Issued      uint64         `json:"issued"`
		Errors      ErrorCounts    `json:"errors"`
		Rollbacks   uint64         `json:"rollbacks"`
		Warnings    []string       `json:"warnings,omitempty"`
	}{
		h.Healthy, h.Closed, text(h.Err), h.Workers, h.LastRenewal, h.WindowLeft.Seconds(),
		h.Lead.Seconds(),
		h.Issued, h.Errors, h.Rollbacks, h.Warnings,
	})
}

// MarshalJSON writes the health of one worker ID in the same way as
// [Health.MarshalJSON].
func (w WorkerHealth) MarshalJSON() ([]byte, error) {
	var mark *float64
	if w.StateFile {
		left := w.MarkLeft.Seconds()
		mark = &left
	}
	return json.Marshal(struct {
		WorkerID    int       `json:"worker_id"`
		Generation  uint64    `json:"generation"`
		Since       time.Time `json:"since"`
		LastRenewal time.Time `json:"last_renewal"`
		WindowLeft  float64   `json:"window_left_seconds"`
		MarkLeft    *float64  `json:"mark_left_seconds,omitempty"`
		Lead        float64   `json:"lead_seconds"`
		Err         string    `json:"error,omitempty"`
		Failing     string    `json:"failing,omitempty"`
	}{
		w.WorkerID, w.Generation, w.Since, w.LastRenewal, w.WindowLeft.Seconds(), mark, w.Lead.Seconds(),
		text(w.Err), text(w.Failing),
	})
}

// text is the text of an error, or nothing.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

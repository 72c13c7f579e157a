package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/unalike-id/unalike/core"
)

// layoutView is a layout, as JSON has it.
type layoutView struct {
	Layout       string    `json:"layout"`
	TimeBits     uint8     `json:"time_bits"`
	WorkerBits   uint8     `json:"worker_bits"`
	SequenceBits uint8     `json:"sequence_bits"`
	Unit         string    `json:"unit"`
	Epoch        time.Time `json:"epoch"`
	Expires      time.Time `json:"expires"`
	WorkerIDs    int       `json:"worker_ids"`
	IDsPerSecond float64   `json:"ids_per_second_and_worker_id"`
	Namespace    string    `json:"namespace,omitempty"`
}

func viewOf(l core.Layout, namespace string) layoutView {
	return layoutView{
		Layout: l.String(), TimeBits: l.TimeBits, WorkerBits: l.WorkerBits, SequenceBits: l.SequenceBits,
		Unit: l.Unit.String(), Epoch: l.Epoch.UTC(), Expires: l.Expires().UTC(), WorkerIDs: l.Workers(),
		IDsPerSecond: float64(l.SequencesPerTick()) / l.Unit.Seconds(), Namespace: namespace,
	}
}

// layout answers with what a generator's IDs consist of.
func (s *Server) layout(w http.ResponseWriter, r *request) error {
	g, err := s.generator(r)
	if err != nil {
		return err
	}
	return sendJSON(w, viewOf(g.Layout(), g.namespace))
}

// generatorView is a generator in the list.
type generatorView struct {
	Name   string       `json:"name"`
	Ready  bool         `json:"ready"`
	Layout string       `json:"layout"`
	Health *core.Health `json:"health,omitempty"` // for who may operate
}

// listGenerators answers with all generators.
func (s *Server) listGenerators(w http.ResponseWriter, r *request) error {
	list := struct {
		Generators []generatorView `json:"generators"`
	}{[]generatorView{}}
	for _, g := range s.all {
		v := generatorView{Name: g.name, Ready: g.Check() == nil, Layout: g.layout}
		if r.detailed() {
			h := g.Health()
			v.Health = &h
		}
		list.Generators = append(list.Generators, v)
	}
	return sendJSON(w, list)
}

// decode answers with the parts of an ID. Every number is one, whether it was issued or not.
func (s *Server) decode(w http.ResponseWriter, r *request) error {
	g, err := s.generator(r)
	if err != nil {
		return err
	}
	id, err := core.ParseID(r.PathValue("id"))
	if err != nil {
		return problemf(http.StatusBadRequest,
			"an ID is a whole number from 0 to 9223372036854775807 in plain digits")
	}
	p, err := partsOf(g.Layout(), id)
	if err != nil {
		return err
	}
	return sendJSON(w, struct {
		ID       core.ID   `json:"id"`
		Time     time.Time `json:"time"`
		WorkerID int       `json:"worker_id"`
		Sequence int       `json:"sequence"`
	}{id, p.Time.UTC(), p.WorkerID, p.Sequence})
}

// partsOf returns the parts of an ID that a layout can have.
func partsOf(l core.Layout, id core.ID) (core.Parts, error) {
	if id < 0 || id > l.MaxID() {
		return core.Parts{}, problemf(http.StatusBadRequest, "the layout has IDs from 0 to %v", l.MaxID())
	}
	return l.Decompose(id), nil
}

// sendJSON answers with v.
func sendJSON(w http.ResponseWriter, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return send(w, jsonType, append(body, '\n'))
}

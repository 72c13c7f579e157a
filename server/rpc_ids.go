package server

import (
	"context"
	"math"
	"net/http"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/unalike-id/unalike/core"
	unalikev1 "github.com/unalike-id/unalike/proto/unalike/v1"
)

// Generate implements unalike.v1.IDService.
func (r rpc) Generate(ctx context.Context,
	req *unalikev1.GenerateRequest,
) (*unalikev1.GenerateResponse, error) {
	g, err := r.served(req.GetGenerator())
	if err != nil {
		return nil, err
	}
	wants, err := r.asked(req.GetCount(), req.GetMaxWait())
	if err != nil {
		return nil, err
	}
	ids, err := r.takeIDs(ctx, requestOf(ctx), g, wants)
	if err != nil {
		return nil, err
	}
	nonce, err := g.nonce(ctx) // after the IDs: then there is a namespace
	if err != nil {
		return nil, err
	}
	return &unalikev1.GenerateResponse{
		NamespaceNonce: nonce, Layout: g.layout, Runs: runsOf(ids, g.Layout()),
	}, nil
}

// Numbers implements unalike.v1.IDService.
func (r rpc) Numbers(ctx context.Context,
	req *unalikev1.NumbersRequest,
) (*unalikev1.NumbersResponse, error) {
	wants, err := r.asked(req.GetCount(), req.GetMaxWait())
	if err != nil {
		return nil, err
	}
	all, err := r.takeNumbers(ctx, requestOf(ctx), req.GetTag(), wants)
	if err != nil {
		return nil, err
	}
	resp := new(unalikev1.NumbersResponse)
	var last *unalikev1.NumberRun
	for _, n := range all {
		if last != nil && n-last.First == int64(last.Count) {
			last.Count++
			continue
		}
		last = &unalikev1.NumberRun{First: n, Count: 1}
		resp.Runs = append(resp.Runs, last)
	}
	return resp, nil
}

// Decode implements unalike.v1.IDService.
func (r rpc) Decode(_ context.Context, req *unalikev1.DecodeRequest) (*unalikev1.DecodeResponse,
	error,
) {
	g, err := r.served(req.GetGenerator())
	if err != nil {
		return nil, err
	}
	p, err := partsOf(g.Layout(), core.ID(req.GetId())) // above 63 bits it is negative, and refused
	if err != nil {
		return nil, err
	}
	return &unalikev1.DecodeResponse{
		Time: timestamppb.New(p.Time), WorkerId: uint32(p.WorkerID), Sequence: uint32(p.Sequence),
	}, nil
}

// Layout implements unalike.v1.IDService.
func (r rpc) Layout(ctx context.Context, req *unalikev1.LayoutRequest) (*unalikev1.LayoutResponse,
	error,
) {
	g, err := r.served(req.GetGenerator())
	if err != nil {
		return nil, err
	}
	nonce, err := g.nonce(ctx)
	if err != nil {
		return nil, err
	}
	l := g.Layout()
	return &unalikev1.LayoutResponse{
		NamespaceNonce: nonce, Layout: g.layout, TimeBits: uint32(l.TimeBits),
		WorkerBits: uint32(l.WorkerBits), SequenceBits: uint32(l.SequenceBits),
		Unit: durationpb.New(l.Unit), Epoch: timestamppb.New(l.Epoch),
		Expires: timestamppb.New(l.Expires()),
	}, nil
}

// served returns the generator of a call. One that names none means the only one that there is.
func (s *Server) served(name string) (*generator, error) {
	if name != "" {
		return s.named(name)
	}
	if len(s.all) != 1 {
		return nil, problemf(http.StatusBadRequest, "generator is missing; known are: %s",
			strings.Join(s.known, ", "))
	}
	return s.all[0], nil
}

// asked checks what a call asks for.
func (s *Server) asked(count uint32, wait *durationpb.Duration) (want, error) {
	w := want{count: int(min(max(count, 1), math.MaxInt32)), wait: wait.AsDuration()}
	if !s.countAllowed(w.count) {
		return w, problemf(http.StatusBadRequest, "count is %d; 1 to %d are allowed, and 0 means 1",
			count, s.cfg.MaxCount)
	}
	if !s.waitAllowed(w.wait) {
		return w, problemf(http.StatusBadRequest, "max_wait is a duration from 0s to %v", s.cfg.MaxWait)
	}
	return w, nil
}

// runsOf packs IDs of a layout that follow one another.
func runsOf(ids []core.ID, l core.Layout) []*unalikev1.Run {
	sequence := core.ID(1)<<l.SequenceBits - 1
	first := new(struct { // of the first one, which is mostly the only one
		run  unalikev1.Run
		runs [1]*unalikev1.Run
	})
	run, runs := &first.run, first.runs[:0]
	for len(ids) > 0 {
		n := runLength(ids, sequence)
		run.First, run.Count = uint64(ids[0]), uint32(n)
		runs = append(runs, run)
		if ids = ids[n:]; len(ids) > 0 {
			run = new(unalikev1.Run)
		}
	}
	return runs
}

// runLength returns how many of the first IDs are a run. One ends with the tick: after its last
// sequence number comes another worker ID's, or another tick's.
func runLength(ids []core.ID, sequence core.ID) int {
	first := ids[0]
	most := min(len(ids), int(sequence-first&sequence)+1)
	n := 1
	for n < most && ids[n] == first+core.ID(n) { //mutant:rpc-run
		n++
	}
	return n
}

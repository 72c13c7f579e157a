package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/segment"
)

// TestKinds: HTTP and RPC say the same of every error, and strangers read nothing of what it names.
func TestKinds(t *testing.T) {
	const inside = "etcd-7.internal"
	all := map[string]error{"unknown": errors.New(inside)}
	for _, k := range kinds {
		all[k.err.Error()] = fmt.Errorf("%s: %w", inside, k.err)
	}
	for name, err := range all {
		for _, detailed := range []bool{false, true} {
			var log strings.Builder
			s := &Server{
				log: slog.New(slog.NewTextHandler(&log, nil)),
			}
			p := s.problem("/path", err, detailed)
			w := httptest.NewRecorder()
			p.write(w)
			var body struct {
				Status int
				Detail string
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Status != w.Code {
				t.Fatalf("%s: %d, %s: %v", name, w.Code, w.Body, err)
			}
			rpc := p.rpc()
			if want, ok := codes[w.Code]; ok && rpc.Code() != want || !ok &&
				(rpc.Code() != connect.CodeInternal || w.Code != 500) {
				t.Errorf("%s: %d, and %v", name, w.Code, rpc.Code())
			}
			if a, b := w.Header().Get("Retry-After"), rpc.Meta().Get("Retry-After"); a != b {
				t.Errorf("%s: try again after %q, and %q", name, a, b)
			}
			if body.Detail != "" && rpc.Message() != body.Detail {
				t.Errorf("%s: %q, and %q", name, body.Detail, rpc.Message())
			}
			if shown := strings.Contains(body.Detail, inside); shown != (detailed && w.Code >= 500) {
				t.Errorf("%s, operator %v: %q", name, detailed, body.Detail)
			}
			if logged := log.Len() > 0; logged != (w.Code == 500 || p.repair) {
				t.Errorf("%s: logged %v", name, logged)
			}
		}
	}
}

// TestOpensLater: whoever comes too early learns when to come again, within bounds.
func TestOpensLater(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for in, want := range map[time.Duration]string{
		-time.Hour: "1", 2500 * time.Millisecond: "3",
		time.Hour: "60",
	} {
		p := problemOf(fmt.Errorf("x: %w", &core.WindowNotOpenError{Now: now, Opens: now.Add(in)}), false)
		if p.Status != 503 || p.after() != want {
			t.Errorf("%v: %d, %s", in, p.Status, p.after())
		}
	}
}

// TestLeafCodes: errors have Leaf's numbers.
func TestLeafCodes(t *testing.T) {
	for err, want := range map[error]int{
		core.ErrNotStarted: -1, core.ErrClockRollback: -3, segment.ErrUnknownTag: -2,
		segment.ErrUnavailable: -3, segment.ErrExhausted: -3, errors.New("x"): -1,
	} {
		if got := leafCode(fmt.Errorf("x: %w", err), problemOf(err, false).Status); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

package protocol_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/lifetime"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/protocol/memstore"
)

// heard is a store whose sessions have heard of a number in an answer to a ping.
type heard struct {
	memstore.Store
	number int64
	at     time.Time
}

func (st *heard) Open(token string, ttl time.Duration, workers int) (protocol.Session, error) {
	s, err := st.Store.Open(token, ttl, workers)
	return heardSession{s, st}, err
}

type heardSession struct {
	protocol.Session
	st *heard
}

func (s heardSession) Survey(ctx context.Context, ask protocol.Ask) (*protocol.Survey, error) {
	n, at := s.st.number, s.st.at
	sv, err := s.Session.Survey(ctx, ask)
	if err == nil {
		sv.Heard, sv.HeardAt = n, at
	}
	return sv, err
}

func (s heardSession) Commit(ctx context.Context, c protocol.Change) (protocol.Outcome, error) {
	n, at := s.st.number, s.st.at
	out, err := s.Session.Commit(ctx, c)
	out.Heard, out.HeardAt = n, at
	return out, err
}

// TestHeardThenLost: a ping has told of a number, and the writes up to it are lost. Every
// answer says so until the next ping.
func TestHeardThenLost(t *testing.T) {
	inOurTime(t, func(t *testing.T) {
		server := memstore.NewServer("a")
		st := &heard{Store: memstore.Store{Server: server}}
		p, err := protocol.New(st, protocol.Settings{
			Driver: "memory", Title: "the memory", Namespace: "orders", MinTTL: time.Second, MaxHorizon: 2 * time.Minute,
			SkewBound: 5 * time.Second, Clock: &shifted{}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		g, err := p.Acquire(t.Context(), wants("p"))
		if err != nil {
			t.Fatal(err)
		}
		restore := server.Snapshot()
		server.Skip(1000)
		time.Sleep(time.Second)
		st.number, st.at = server.Number(), lifetime.Now()
		restore()
		before := server.Number()
		for range 3 {
			if _, err = p.Renew(t.Context(), g, g.NotAfter+1); err == nil || errors.Is(err, coord.ErrQuarantined) {
				break
			}
		}
		if err != nil && !errors.Is(err, coord.ErrQuarantined) {
			t.Errorf("Renew: %v; %d writes", err, server.Number()-before)
		}
		if n := server.Number() - before; n > 4 {
			t.Errorf("%d writes", n)
		}
	})
}

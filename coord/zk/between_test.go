package zk_test

import (
	"crypto/rand"
	"encoding/binary"
	"testing"

	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/proxytest"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
	"github.com/unalike-id/unalike/internal/testserver/zktest"
)

// robbed is a coordinator behind a proxy that loses answers.
type robbed struct {
	protocol.Full
	*proxytest.Proxy
	server    *zktest.Server
	direct    operator
	namespace string
}

func newRobbed(t *testing.T) *robbed {
	t.Helper()
	server := zktest.Start(t, zktest.Options{})
	r := &robbed{
		server: server, Proxy: proxytest.Start(t, server.Addr),
		direct: newOperator(t, []string{server.Addr}), namespace: rand.Text(),
	}
	r.Full = newCoordinator(t, []string{r.Addr}, r.namespace, nil)
	if err := r.Init(within(t), space()); err != nil {
		t.Fatal(err)
	}
	return r
}

// Operations of the protocol.
const (
	opCreate = 1
	opExists = 3
	opSet    = 5
	opMulti  = 14
)

// asks reports whether a client asks for an operation in what it sends.
func asks(op int32, sent []byte) bool {
	for len(sent) >= 12 { // length, number, operation
		length, number := binary.BigEndian.Uint32(sent), binary.BigEndian.Uint32(sent[4:])
		// The request for a session has a version, which is 0, where others have their number.
		if number != 0 && int32(binary.BigEndian.Uint32(sent[8:])) == op {
			return true
		}
		sent = sent[min(len(sent), 4+int(length)):]
	}
	return false
}

// first is true of the first request for an operation, at which it does something.
func first(op int32, do func()) func(request []byte) bool {
	met := false
	return func(request []byte) bool {
		if met || !asks(op, request) {
			return false
		}
		met = true
		do()
		return true
	}
}

// TestSessionEndsBetween: the session of an acquisition ends before the grant. It gets
// another one, and the caller is not told. Nor is an operator of a connection that is lost while it
// reads.
func TestSessionEndsBetween(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	streamtest.Eventually(t, "the session of Init is over", func() bool {
		return len(r.server.Sessions(t)) == 1
	})
	ended := 0
	const all = 1 << 30 // no answer is lost of fewer requests
	r.Rob(all, first(opMulti, func() {
		for _, id := range r.server.Sessions(t) {
			if id != r.direct.SessionID() {
				r.server.KillSession(t, id)
				ended++
			}
		}
	}))
	if g, err := r.Acquire(within(t), request(1)); err != nil || ended != 1 {
		t.Errorf("Acquire, of which %d sessions have ended: %v, %v", ended, g, err)
	}
	r.Rob(1, first(opSet, func() {}))
	if err := r.Retire(within(t), 1); err != nil || r.Robbed() != 1 {
		t.Errorf("Retire over a connection that was lost: %v", err)
	}
}

// TestHolders_LostAnswer: the answer to a registration is lost. No session has two nodes.
func TestHolders_LostAnswer(t *testing.T) {
	t.Parallel()
	r := newRobbed(t)
	r.Rob(1, first(opCreate, func() {}))
	if g, err := r.Acquire(within(t), request(1)); err != nil || r.Robbed() != 1 {
		t.Fatalf("Acquire over a connection that was lost: %v, %v", g, err)
	}
	all, _, err := r.direct.Children(holdersPath(r.namespace))
	if err != nil || len(all) == 0 {
		t.Fatalf("the holders are %q, %v", all, err)
	}
	sessions := map[int64]bool{}
	for _, name := range all {
		there, stat, err := r.direct.Exists(holdersPath(r.namespace) + "/" + name)
		if err != nil || there && sessions[stat.EphemeralOwner] {
			t.Errorf("session %d has two of %q; %v", stat.EphemeralOwner, all, err)
		}
		sessions[stat.EphemeralOwner] = there
	}
}

// TestHolders_FolderDeleted: an operator deletes the holders and their folder. A holder whose
// session ends then goes on, and newcomers are granted worker IDs.
func TestHolders_FolderDeleted(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Options{})
	o := newOperator(t, []string{server.Addr})
	c := newCoordinator(t, []string{server.Addr}, "ns", nil)
	g := mustAcquire(t, c, request(2))
	all, _, err := o.Children(holdersPath("ns"))
	if err != nil || len(all) != 1 {
		t.Fatalf("the holders are %q, %v", all, err)
	}
	for _, path := range []string{holdersPath("ns") + "/" + all[0], holdersPath("ns")} {
		if err := o.Delete(path, -1); err != nil {
			t.Fatal(err)
		}
	}
	endSession(t, o, server, "ns", g.WorkerID)
	if h, err := c.Renew(within(t), g, g.NotAfter); err != nil {
		t.Errorf("Renew after the folder was deleted: %v, %v", h, err)
	}
	mustAcquire(t, c, request(2))
	if all, _, err = o.Children(holdersPath("ns")); err != nil || len(all) != 2 {
		t.Errorf("the holders are %q, %v; want two", all, err)
	}
}

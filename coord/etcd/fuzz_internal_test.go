package etcd

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/protocol"
)

// space is the layout of a namespace that fuzz tests begin with.
var space = coord.Space{
	Fingerprint: "test", Scale: clock.Scale{Unit: 1000}, LastTick: 1 << 41,
	Capacity: 1024,
}

// encoded is what is stored for a record.
func encoded(tb testing.TB, r protocol.Record) []byte {
	tb.Helper()
	s, err := protocol.Encode(r)
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(s)
}

// answer is an answer with one key for each read, or with none where a value is nil.
func answer(keys []string, values ...[]byte) *reply {
	r := &reply{header: &pb.ResponseHeader{Revision: 9}}
	for i, v := range values {
		read := &pb.RangeResponse{}
		if v != nil {
			read.Kvs = []*mvccpb.KeyValue{{
				Key: []byte(keys[i]), Value: v, CreateRevision: 3, ModRevision: 5,
				Lease: 7,
			}}
			read.Count = 1
		}
		r.reads = append(r.reads, read)
	}
	return r
}

// refusesWell checks an error about what is stored: it is final, and names a key.
func refusesWell(t *testing.T, err error, k keyspace) {
	t.Helper()
	if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), `etcd key "`+string(k)) {
		t.Errorf("%v; want %v and the name of a key", err, coord.ErrInvalid)
	}
}

// sameAgain checks that what was read of a key is what would be written there.
func sameAgain[R protocol.Record](t *testing.T, e protocol.Entry[R], stored []byte) {
	t.Helper()
	if e.There() && !bytes.Equal(encoded(t, e.Record), stored) {
		t.Errorf("%q is read as %+v", stored, e.Record)
	}
}

// FuzzStored: whatever lies under a namespace's keys is read as what the driver has written
// there, or refused with the name of a key.
func FuzzStored(f *testing.F) {
	slot := protocol.Slot{
		Version: protocol.Version, Worker: 3, Token: "token", Generation: 1,
		NotAfter: 10, LastTick: 1 << 41, TTL: 15_000,
	}
	meta := encoded(f, protocol.NewMeta(space))
	window, rest, err := encodeSlot(slot)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(meta, "0000000003", encoded(f, protocol.MarkOf(slot)), encoded(f, protocol.PointerTo(3)),
		[]byte(window), []byte(rest))
	f.Add(meta, "0000000003", encoded(f, protocol.MarkOf(slot)), encoded(f, protocol.PointerTo(3)),
		encoded(f, slot), []byte(rest))
	f.Add(meta, "3", []byte("{}"), []byte("7"), []byte(`{"version":2}`), []byte(`{"version":2}`))
	f.Add([]byte(`{"version":1}`), "-000000001", []byte{}, []byte{}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, meta []byte, owner string, mark, pointer, slot, rest []byte) {
		s := &session{store: &store{keys: keyspace(root + "orders/")}}
		k := s.keys
		keys := []string{
			k.meta(), k.cluster(), k.ticket(), k.owners() + owner, k.token("token"),
			k.identity("pod-a"),
		}
		resp := answer(keys, meta, []byte("1f"), []byte{}, mark, pointer, pointer)
		sv := &protocol.Survey{Worker: -1, Last: -1}
		err := s.readSurvey(sv, protocol.Ask{Token: "token", Identity: "pod-a"}, resp)
		if err != nil {
			refusesWell(t, err, k)
		} else {
			sameAgain(t, sv.Meta, meta)
			if !bytes.Equal(encoded(t, protocol.PointerTo(sv.Worker)), pointer) || sv.Last != sv.Worker ||
				len(sv.Owned) != 1 || digits(sv.Owned[0]) != owner {
				t.Errorf("token key %q and owner key %q are read as %+v", pointer, owner, sv)
			}
			if m, err := sv.Holders[0].Mark(); err != nil {
				refusesWell(t, err, k)
			} else if !bytes.Equal(encoded(t, m), mark) {
				t.Errorf("%q is read as %+v", mark, m)
			}
		}
		v, err := s.viewFrom(answer([]string{k.meta(), k.owner(3), k.slot(3), k.holder(3)}, meta, mark,
			slot, rest))
		if err != nil {
			refusesWell(t, err, k)
			return
		}
		sameAgain(t, v.Meta, meta)
		window, other, err := encodeSlot(v.Slot.Record)
		if err != nil || v.Slot.Record.Worker != 3 || window != string(slot) || other != string(rest) {
			t.Errorf("%q and %q are read as the slot of worker ID 3: %+v, %v", slot, rest, v.Slot.Record,
				err)
		}
	})
}

// FuzzWorkerOf: only keys that the driver writes are read, as the worker ID that they are of.
func FuzzWorkerOf(f *testing.F) {
	for _, s := range []string{
		"", "slot/", "slot/0000000007", "slot/7", "slot/-000000007",
		"slot/2147483648", "owner/0000000007", "slot/0000000007/x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, key string) {
		k := keyspace(root + "orders/")
		id, err := workerOf(k.slots(), string(k)+key)
		switch {
		case err != nil && (!errors.Is(err, coord.ErrInvalid) ||
			!strings.Contains(err.Error(), fmt.Sprintf("%q", string(k)+key))):
			t.Errorf("%q: %v", key, err)
		case err == nil && k.slot(id) != string(k)+key:
			t.Errorf("%q is read as worker ID %d", key, id)
		}
	})
}

// FuzzURL: a URL is refused as invalid, or gives options that are allowed.
func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"etcd://h/ns", "etcds://u:p@h1,[::1]:2/ns?ttl=15s&horizon=1m&renew=1s&skew=1s", "etcd://h/a/b",
		"etcd://h/ns?skew=-1s",
		"etcd://u@h/ns", "etcd://h", "etcd:///ns", "etcd://h/ns?x=y", "etcd://h/ns?ttl=100ms",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := driver.ParseURL(s)
		if err != nil || u.Has("ca") || u.Has("cert") || u.Has("key") { // those are files
			return
		}
		got, err := parse(u)
		if err != nil {
			if c, err := open(t.Context(), u); !errors.Is(err, coord.ErrInvalid) || c != nil {
				t.Errorf("%q: %v, %v", s, c, err)
			}
			return
		}
		_, err = got.options.resolve()
		if err != nil || driver.CheckNamespace(got.namespace) != nil ||
			len(got.client.Endpoints) != len(u.Hosts) ||
			(got.client.Username == "") != (got.client.Password == "") {
			t.Errorf("%q is read as %+v, %v", s, got, err)
		}
	})
}

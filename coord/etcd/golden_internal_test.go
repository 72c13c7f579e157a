package etcd

import (
	"fmt"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/unalike-id/unalike/internal/goldentest"
	"github.com/unalike-id/unalike/internal/protocol"
)

// TestGolden: the keys of version 0.1.0 are read, and written as they were.
func TestGolden(t *testing.T) {
	t.Parallel()
	k, s := keyspace(root+"ids/"), goldentest.Slot()
	slot, rest, err := encodeSlot(s)
	meta, metaErr := protocol.Encode(goldentest.Meta())
	pointer, pointerErr := protocol.Encode(protocol.PointerTo(s.Worker))
	if err != nil || metaErr != nil || pointerErr != nil {
		t.Fatal(err, metaErr, pointerErr)
	}
	var b strings.Builder
	for _, kv := range [][2]string{
		{k.meta(), meta},
		{k.cluster(), ""},
		{k.ticket(), ""},
		{k.slot(s.Worker), slot},
		{k.holder(s.Worker), rest},
		{k.owner(s.Worker), ""},
		{k.token(s.Token), pointer},
		{k.identity(s.Identity), pointer},
	} {
		fmt.Fprintf(&b, "%s\t%s\n", kv[0], kv[1])
	}
	read := map[string]*mvccpb.KeyValue{}
	for line := range strings.Lines(goldentest.Same(t, "keys.txt", b.String())) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		read[key] = &mvccpb.KeyValue{
			Key: []byte(key), Value: []byte(value), CreateRevision: 1,
			ModRevision: 2,
		}
	}
	if e, err := k.slotOf(read["/unalike/ids/slot/0000000007"],
		read["/unalike/ids/holder/0000000007"]); err != nil || e.Record != s {
		t.Errorf("the slot is %+v, %v", e.Record, err)
	}
	if e, err := metaOf(read["/unalike/ids/namespace"]); err != nil || e.Record != goldentest.Meta() {
		t.Errorf("the namespace is %+v, %v", e.Record, err)
	}
	for _, key := range []string{"/unalike/ids/token/K5TOKEN", "/unalike/ids/identity/pod-a"} {
		if worker, err := leadsTo(read[key]); err != nil || worker != s.Worker {
			t.Errorf("%s leads to %d, %v", key, worker, err)
		}
	}
}

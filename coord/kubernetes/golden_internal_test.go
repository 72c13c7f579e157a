package kubernetes

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/goldentest"
	"github.com/unalike-id/unalike/internal/protocol"
)

// TestGolden: the Leases of version 0.1.0 are read, and written as they were.
func TestGolden(t *testing.T) {
	t.Parallel()
	s, slot := &store{key: keyOf("ids"), namespace: "ids"}, goldentest.Slot()
	meta, err := protocol.Encode(goldentest.Meta())
	record, slotErr := protocol.Encode(slot)
	if err != nil || slotErr != nil {
		t.Fatal(err, slotErr)
	}
	marks := s.newLease(s.marksName(0),
		map[string]string{annotationUID: "uid-of-used-0", mark(7): "uid-of-7"}, nil)
	of := content{
		Format: format, Stamp: "K5STAMP", Writes: 12, Seen: 5, Floor: goldentest.Meta().Floor,
		Base:  goldentest.Meta().Base,
		Token: slot.Token, Ends: 1767323115000000, Record: json.RawMessage(record),
	}
	space := content{
		Format: format, Stamp: "K5STAMP", Writes: 5, UID: "uid-of-ids",
		Record: json.RawMessage(meta),
	}
	leases := []*lease{
		leaseOf(t, s, -1, space, nil), leaseOf(t, s, slot.Worker, of, of.shown(slot)),
		marks,
	}
	for i, uid := range []string{"uid-of-ids", "uid-of-7", "uid-of-used-0"} {
		leases[i].Metadata.UID = uid
	}
	text, err := json.MarshalIndent(leases, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	var read []*lease
	if err := json.Unmarshal([]byte(goldentest.Same(t, "leases.json", string(text)+"\n")),
		&read); err != nil {
		t.Fatal(err)
	}
	if o := objectOf(read[0]); !o.settled() || o.lost(5) != "" {
		t.Errorf("the namespace's object is %+v", o)
	} else if e, err := entry[protocol.Meta](o); err != nil || e.Record != goldentest.Meta() ||
		e.Version != 5 {
		t.Errorf("the namespace is %+v, %v", e, err)
	}
	if e, err := slotEntry(objectOf(read[1]), slot.Worker); err != nil || e.Record != slot ||
		e.Version != 12 {
		t.Errorf("the slot is %+v, %v", e, err)
	}
	if m := read[2]; m.gone() || m.marked(7) == "" || m.replaced(7, objectOf(read[1])) != "" {
		t.Errorf("the marks are %+v", m)
	}
	if !strings.HasPrefix(read[2].Metadata.Name, read[0].Metadata.Name+".") {
		t.Errorf("the names are %s and %s", read[0].Metadata.Name, read[2].Metadata.Name)
	}
}

// leaseOf is the Lease of a worker ID; -1: of the namespace.
func leaseOf(t *testing.T, s *store, worker int, c content, shown *spec) *lease {
	t.Helper()
	text, err := c.text()
	if err != nil {
		t.Fatal(err)
	}
	return s.newLease(s.objectName(worker), map[string]string{annotation: text}, shown)
}

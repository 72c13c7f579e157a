package zk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/goldentest"
	"github.com/unalike-id/unalike/internal/protocol"
)

// TestGolden: the nodes of version 0.1.0 have the names and the content that they had.
func TestGolden(t *testing.T) {
	t.Parallel()
	n, s := newFolder("", "ids/odd name"), goldentest.Slot()
	meta, err := protocol.Encode(goldentest.Meta())
	slot, slotErr := protocol.Encode(s)
	pointer, pointerErr := protocol.Encode(protocol.PointerTo(s.Worker))
	if err != nil || slotErr != nil || pointerErr != nil {
		t.Fatal(err, slotErr, pointerErr)
	}
	var b strings.Builder
	for _, node := range [][2]string{
		{n.meta(), meta},
		{n.clock(), ""},
		{n.slots(), ""},
		{n.slot(s.Worker), slot},
		{n.owners(), ""},
		{n.owner(s.Worker), ""},
		{n.holders(), ""},
		{n.tokens(), ""},
		{n.token(s.Token), pointer},
		{n.identities(), ""},
		{n.identity(s.Identity), pointer},
	} {
		fmt.Fprintf(&b, "%s\t%s\n", node[0], node[1])
	}
	for line := range strings.Lines(goldentest.Same(t, "nodes.txt", b.String())) {
		path, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		switch path {
		case "/unalike/ids%2Fodd%20name/meta":
			if got, err := protocol.Decode[protocol.Meta]([]byte(value)); err != nil ||
				got != goldentest.Meta() {
				t.Errorf("the namespace is %+v, %v", got, err)
			}
		case "/unalike/ids%2Fodd%20name/slots/0000000007":
			if got, err := protocol.Decode[protocol.Slot]([]byte(value)); err != nil || got != s {
				t.Errorf("the slot is %+v, %v", got, err)
			}
		}
	}
}

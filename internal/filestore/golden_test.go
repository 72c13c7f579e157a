package filestore

import (
	"reflect"
	"testing"

	"github.com/unalike-id/unalike/internal/goldentest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/statefile"
)

// TestGolden: a file of version 0.1.0 is read, and written as it was.
func TestGolden(t *testing.T) {
	t.Parallel()
	d := newState("ids")
	d.Home, d.Number = statefile.Home{Machine: "machine-1", Boot: "boot-1"}, 17
	d.Meta = protocol.Entry[protocol.Meta]{Record: goldentest.Meta(), Made: 1, Version: 9}
	retired := goldentest.Slot().Withdrawn(goldentest.Meta(), 7, 1767323060000000)
	retired.Worker = 8
	d.Slots[7] = protocol.Entry[protocol.Slot]{Record: goldentest.Slot(), Made: 2, Version: 16}
	d.Slots[8] = protocol.Entry[protocol.Slot]{Record: retired, Made: 3, Version: 17}
	d.Marks[7], d.Marks[8] = Mark{goldentest.Slot().Token, 123456789}, Mark{}
	text, err := format.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode([]byte(goldentest.Same(t, "ids", string(text))))
	if err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("it is read as %+v, %v; want %+v", got, err, d)
	}
}

package protocol_test

import (
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/goldentest"
	"github.com/unalike-id/unalike/internal/protocol"
)

// TestGolden: the records of version 0.1.0 are read, and written as they were.
func TestGolden(t *testing.T) {
	t.Parallel()
	declared := goldentest.Meta()
	declared.Version, declared.MinReader, declared.MaxHorizon = protocol.DeclaredVersion,
		protocol.DeclaredVersion, 21600000
	retired := goldentest.Slot().Withdrawn(goldentest.Meta(), 7, 1767323060000000)
	frozen(t, "meta.json", goldentest.Meta())
	frozen(t, "meta_declared.json", declared)
	frozen(t, "slot.json", goldentest.Slot())
	frozen(t, "slot_retired.json", retired)
	frozen(t, "pointer.json", protocol.PointerTo(7))
}

func frozen[R interface {
	comparable
	protocol.Record
}](t *testing.T, name string, r R) {
	t.Helper()
	text, err := protocol.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	text = strings.TrimSuffix(goldentest.Same(t, name, text+"\n"), "\n")
	if got, err := protocol.Decode[R]([]byte(text)); err != nil || got != r {
		t.Errorf("%s is read as %+v, %v; want %+v", name, got, err, r)
	}
}

// TestGoldenLater: what a later version has added to the record of a namespace stays there, also
// when it is changed.
func TestGoldenLater(t *testing.T) {
	t.Parallel()
	text := strings.TrimSuffix(goldentest.Read(t, "meta.json"), "}\n")
	const added = `,"later":{"b":[1,2],"a":"x"},"more":7}`
	m, err := protocol.Decode[protocol.Meta]([]byte(text + added))
	if err != nil {
		t.Fatal(err)
	}
	m.Floor++
	got, err := protocol.Encode(m)
	want := strings.Replace(text, `"floor":60000001`, `"floor":60000002`, 1) + added
	if err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

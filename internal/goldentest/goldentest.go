// Package goldentest holds what is stored to files that are frozen. What version 0.1.0 has stored
// is in the folder testdata/v0.1.0 of each package that stores something: every later version reads
// it, and writes the same for the same content.
package goldentest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/internal/protocol"
)

// folder is where the files of a package are.
var folder = filepath.Join("testdata", "v0.1.0")

// freezeEnv, if it is set, has files written that are not there yet. One that is there stays.
const freezeEnv = "UNALIKE_FREEZE"

// Meta is the record of a namespace that has had a loss, with something in each field.
func Meta() protocol.Meta {
	return protocol.Meta{
		Version: protocol.MetaVersion, MinReader: protocol.MetaVersion,
		Fingerprint: "41/10/12/1ms/2024-01-01T00:00:00Z",
		Epoch:       1704067200000000, Unit: 1000, LastTick: 1<<41 - 1, Capacity: 1024,
		Nonce: "K5NONCEOFTHENAMESPACE", Lineage: "lineage-1",
		MaxHorizon: 0, Floor: 60000001, Base: 50000001, Loss: protocol.Loss{
			Nonce: "K5NONCEOFTHELOSS",
			Floor: 59000001, Found: 1767323045000000,
		},
	}
}

// Slot is the slot of a worker ID that somebody has, with something in each field.
func Slot() protocol.Slot {
	return protocol.Slot{
		Version: protocol.Version, Worker: 7, Token: "K5TOKEN", Identity: "pod-a", Holder: "host-a:4711",
		Generation: 3,
		Opened:     60000002, NotBefore: 60000002, NotAfter: 60030002, LastTick: 1<<41 - 1,
		Fingerprint: "41/10/12/1ms/2024-01-01T00:00:00Z",
		Since:       1767323050000000, Renewed: 1767323055000000, TTL: 60000,
	}
}

// Read returns the text of a file.
func Read(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// Same fails the test unless a file has the text, and returns the file's.
func Same(tb testing.TB, name, text string) string {
	tb.Helper()
	path := filepath.Join(folder, name)
	if _, err := os.Stat(path); os.IsNotExist(err) && os.Getenv(freezeEnv) != "" {
		if err := os.MkdirAll(folder, 0o750); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	frozen := Read(tb, name)
	if text != frozen {
		tb.Errorf("today's code writes\n%s\nand %s, which version 0.1.0 has written, is\n%s", text, path,
			frozen)
	}
	return frozen
}

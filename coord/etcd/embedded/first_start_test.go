package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// TestFirstStartKilled: a first start that was killed after any of its steps is no
// obstacle, and what was ready is kept from the moment that the mark says so.
func TestFirstStartKilled(t *testing.T) {
	t.Parallel()
	unready := mark{Version: formatVersion, Folder: "made by a test"}
	ready := mark{Version: formatVersion, Folder: "made by a test", Served: true}
	for _, tt := range []struct {
		name  string
		leave func(t *testing.T, f folder) error
		slots int
	}{
		{"lock", func(_ *testing.T, f folder) error { return put(f.path, nameLock, "") }, 0},
		{"half a mark", func(_ *testing.T, f folder) error {
			return put(f.path, nameMark+temporary, "{")
		}, 0},
		{"mark", func(_ *testing.T, f folder) error { return f.write(nameMark, unready) }, 0},
		{"half of the data", func(_ *testing.T, f folder) error {
			wal := filepath.Join(f.file(nameData), "member", "wal")
			return errors.Join(f.write(nameMark, unready), os.MkdirAll(wal, 0o700),
				put(wal, "0000000000000000-0000000000000000.wal", ""))
		}, 0},
		{"data", func(t *testing.T, f folder) error {
			makeData(t, f)
			return f.write(nameMark, unready)
		}, 0},
		{"mark of the ready", func(t *testing.T, f folder) error {
			makeData(t, f)
			return f.write(nameMark, ready)
		}, 1},
		{"all but the post", func(t *testing.T, f folder) error {
			makeData(t, f)
			return errors.Join(f.write(nameMark, ready), f.noteServed(),
				put(f.path, namePost+temporary, "{"))
		}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := folder{newDir(t)}
			if err := errors.Join(os.Mkdir(f.path, 0o700), tt.leave(t, f)); err != nil {
				t.Fatal(err)
			}
			slots, err := openFolder(t, f.path, "n").List(within(t))
			if err != nil || len(slots) != tt.slots {
				safetytest.Unless(t, err).Errorf("slots are %+v, %v; want %d", slots, err, tt.slots)
			}
			m, err := f.readMark()
			if _, absent := os.Stat(f.file(nameServed)); err != nil || !m.Served || absent != nil {
				t.Errorf("the mark is %+v, %v; among the data: %v", m, err, absent)
			}
		})
	}
}

// makeData makes the data of a server that was ready, in which there is a slot to know
// them by. Nothing but etcd has written to them.
func makeData(t *testing.T, f folder) {
	t.Helper()
	c := openFolder(t, f.path, "n")
	mustAcquire(t, c, request(1))
	if err := errors.Join(c.Close(), os.Remove(f.file(nameServed))); err != nil {
		t.Fatal(err)
	}
}

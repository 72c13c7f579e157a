package proctest

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/unalike-id/unalike/internal/filelock"
)

// TestFreePorts: nobody gets the port of a server that is away for a moment, also not another
// process, and everybody when the test has ended.
func TestFreePorts(t *testing.T) {
	const many = 200 // of 10 000: some would be chosen twice
	var all []int
	t.Run("taken", func(t *testing.T) {
		all = slices.Sorted(slices.Values(append(FreePorts(t, many), FreePorts(t, many)...)))
		if n := len(slices.Compact(slices.Clone(all))); n != 2*many {
			t.Errorf("%d ports were given twice", 2*many-n)
		}
		var held *filelock.HeldError // the locks are between processes
		if _, err := filelock.Lock(filepath.Join(portsFolder(t), strconv.Itoa(all[0]))); !errors.As(err,
			&held) {
			t.Errorf("the lock of a port that is given away: %v", err)
		}
	})
	free := 0
	for _, port := range all {
		if lock, err := filelock.Lock(filepath.Join(portsFolder(t), strconv.Itoa(port))); err == nil {
			free++
			lock.Unlock()
		}
	}
	if free < 2*many-10 { // other tests may have got some since
		t.Errorf("of %d ports, %d are free after the test", 2*many, free)
	}
}

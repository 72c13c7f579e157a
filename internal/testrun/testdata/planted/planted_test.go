// Package planted has tests that fail when they run first, and pass from then on.
package planted

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// first reports whether a test runs first. UNALIKE_TEST_RAN is the directory in which it notes
// that.
func first(t *testing.T) bool {
	t.Helper()
	err := os.Mkdir(filepath.Join(os.Getenv("UNALIKE_TEST_RAN"), t.Name()), 0o700)
	if err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
	return err == nil
}

// TestOrder finds a wrong order, in a part, in several goroutines.
func TestOrder(t *testing.T) {
	fails := first(t)
	t.Run("part", func(t *testing.T) {
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				if fails {
					safetytest.Of(t).Errorf("after %d came %d", 100, 90+i)
				}
			})
		}
		all.Wait()
	})
}

// TestDuplicate finds a duplicate.
func TestDuplicate(t *testing.T) {
	if first(t) {
		safetytest.Unless(t, nil).Fatalf("was given number %d, which the store has again", 7)
	}
}

// TestLate has a call that fails, which returns nothing.
func TestLate(t *testing.T) {
	if first(t) {
		err := errors.New("no answer in time")
		safetytest.Unless(t, err).Errorf("after %d came %d, %v", 100, 0, err)
	}
}

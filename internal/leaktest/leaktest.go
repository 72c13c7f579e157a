// Package leaktest fails the tests of a package that leave a goroutine behind: whoever has
// closed a generator, a coordinator and its client has none left, of this module or of the
// client's.
package leaktest

import (
	"flag"
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"

	"github.com/unalike-id/unalike/internal/safetytest"
)

// timeout is how long a goroutine may take to end, on however slow a machine.
const timeout = time.Minute

// Tests is what this package runs: a [testing.M], or one with something around it.
type Tests interface{ Run() (code int) }

// Main is a TestMain: it runs the tests, fails if they leave a goroutine behind, and ends the
// program. A goroutine whose stack has one of the allowed functions may stay; say beside each
// why it does.
func Main(m Tests, allowed ...string) { os.Exit(Run(m, allowed...)) }

// Run is Main without the end of the program. It returns the exit code.
func Run(m Tests, allowed ...string) int { return run(m, timeout, allowed) }

func run(m Tests, limit time.Duration, allowed []string) int {
	code := m.Run()
	if code != 0 || searching() {
		return code // the tests that have failed may have closed nothing
	}
	if err := leftOver(limit, allowed); err != nil {
		fmt.Fprintf(os.Stderr, "FAIL: %sthe tests have left goroutines behind: %v\n",
			safetytest.Marker, err)
		return 1
	}
	return 0
}

// searching reports whether the program searches for inputs of a fuzz test, which goes on
// beside the tests.
func searching() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != ""
}

// leftOver returns which goroutines are there, after some time to end; nil: none but allowed
// ones.
func leftOver(limit time.Duration, allowed []string) error {
	var options []goleak.Option
	for _, f := range allowed {
		options = append(options, goleak.IgnoreAnyFunction(f))
	}
	for deadline := time.Now().Add(limit); ; {
		err := goleak.Find(options...) // which waits for about a second
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

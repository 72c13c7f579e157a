package coordtest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// recorder is a testing.TB that keeps what a case says instead of failing. The
// case runs in a goroutine of its own, which FailNow ends.
type recorder struct {
	testing.TB // Context, Name, and what else is not about the result

	mu       sync.Mutex
	messages []string
	failed   bool
	skipped  bool
	cleanups []func()
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

func (r *recorder) FailNow() {
	r.mu.Lock()
	r.failed = true
	r.mu.Unlock()
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.FailNow()
}

func (r *recorder) Skip(args ...any) { r.Skipf("%s", fmt.Sprint(args...)) }

func (r *recorder) Skipf(string, ...any) {
	r.mu.Lock()
	r.skipped = true
	r.mu.Unlock()
	runtime.Goexit()
}

func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

// recordCase runs one case and returns what became of it.
func recordCase(t *testing.T, tc testCase, h func() Harness) *recorder {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Some mutants are found by waiting in vain, which a short time shows as well.
		runCase(r, tc, h(), 50*time.Millisecond)
	}()
	<-done
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
	return r
}

// TestSuiteFindsMutants runs each mutant through the cases that are there for it,
// which must fail. A case without a mutant has not shown that it can.
func TestSuiteFindsMutants(t *testing.T) {
	byName := map[string]testCase{}
	idle := map[string]bool{}
	for _, tc := range cases() {
		if _, twice := byName[tc.name]; twice {
			t.Fatalf("two cases have the name %s", tc.name)
		}
		byName[tc.name], idle[tc.name] = tc, true
	}
	for _, m := range mutants {
		for name := range strings.FieldsSeq(m.found) {
			delete(idle, name)
			t.Run(strings.ReplaceAll(m.name, " ", "_")+"/"+name, func(t *testing.T) {
				tc, ok := byName[name]
				if !ok {
					t.Fatalf("there is no case %s", name)
				}
				r := recordCase(t, tc, m.harness)
				if r.skipped || !r.failed {
					t.Fatalf("%s passes (skipped: %v) with a coordinator that is broken: %s", name, r.skipped,
						m.name)
				}
				t.Logf("%s: %s", name, strings.Join(r.messages, "; "))
			})
		}
	}
	for name := range idle {
		t.Errorf("no mutant shows that case %s can fail", name)
	}
}

// TestSkips: what a harness cannot do is skipped, with a reason, and not failed.
func TestSkips(t *testing.T) {
	minimal := func() Harness { return Harness{Client: fakeHarness(NewFake(FakeConfig{})).Client} }
	var run []string
	for _, tc := range cases() {
		r := recordCase(t, tc, minimal)
		if r.failed {
			t.Errorf("%s with a bare harness: %v", tc.name, r.messages)
		}
		if !r.skipped {
			run = append(run, tc.name)
		}
	}
	want := "AcquireGrantsWhatIsWanted AcquireConcurrent ShareIsRespected" +
		" ReplayedAcquireIsTheSameGrant ReleasedTokenIsNewGrant LayoutMismatch" +
		" AcquireStopsAtLastTick InvalidRequest RenewExtends RenewTwiceAtOnce" +
		" ReleaseFreesAndTrims ReleaseNeverRaises ReleaseUnused ReleasedIsOut" +
		" WrongTokenOrGeneration ResumeInvalid GrantWithForeignHandle" +
		" Closed"
	if got := strings.Join(run, " "); got != want {
		t.Errorf("with a bare harness, these are run: %s; want %s", got, want)
	}
}

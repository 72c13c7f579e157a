package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/leaktest"
	"github.com/unalike-id/unalike/internal/safetytest"
	"github.com/unalike-id/unalike/internal/testserver/numbertest"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/segmenttest"
)

func TestMain(m *testing.M) {
	if url, ok := os.LookupEnv(takerEnv); ok {
		fmt.Fprintln(os.Stderr, take(url))
		os.Exit(1)
	}
	numbertest.Taker()
	leaktest.Main(m)
}

func within(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	tb.Cleanup(cancel)
	return ctx
}

// opened returns the store of a file.
func opened(tb testing.TB, path string) *Store {
	tb.Helper()
	s, err := segment.Open(within(tb), "file://"+filepath.ToSlash(path), segment.OpenOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s.(*Store)
}

// made returns the store of a new file, with the tag "a", which begins at 1.
func made(tb testing.TB) (*Store, string) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "numbers")
	s := opened(tb, path)
	if err := s.Create(within(tb), segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
		tb.Fatal(err)
	}
	return s, path
}

// wantTake takes ten numbers that are to begin at first.
func wantTake(tb testing.TB, s *Store, tag string, first int64) {
	tb.Helper()
	r, err := s.Take(within(tb), tag, 10)
	if err != nil || r != (segment.Range{First: first, Last: first + 9}) {
		safetytest.Unless(tb, err).Errorf("Take(%q, 10) = %v, %v; want it to begin at %d", tag, r, err,
			first)
	}
}

// wantOther checks that a file is refused.
func wantOther(tb testing.TB, s *Store, says string) {
	tb.Helper()
	made := segment.Tag{Name: "b", Next: 1, Step: 10, Since: time.Now()}
	r, take := s.Take(within(tb), "a", 10)
	_, tag := s.Tag(within(tb), "a")
	for what, err := range map[string]error{
		"Take": take, "Tag": tag, "Create": s.Create(within(tb), made),
		"Advance": s.Advance(within(tb), "a", 500),
	} {
		if !errors.Is(err, segment.ErrStoreChanged) || !strings.Contains(err.Error(), says) {
			safetytest.Unless(tb, err).Errorf("%s = %v, %v; want ErrStoreChanged, which says %q", what, r,
				err, says)
		}
	}
}

// TestSuite holds the store to its interface.
func TestSuite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "numbers")
	segmenttest.Run(t, func(tb testing.TB) segment.Store {
		tb.Helper()
		return opened(tb, path)
	})
}

// TestStore_OlderFile: a file that is older than its mark, or gone, is refused by programs that run
// and by new ones, until all tags are advanced.
func TestStore_OlderFile(t *testing.T) {
	t.Parallel()
	s, path := made(t)
	wantTake(t, s, "a", 1)
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	wantTake(t, s, "a", 11)
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*Store{s, opened(t, path)} {
		wantOther(t, s, "it has 2 changes of numbers, and this machine has made 3")
	}
	operator := opened(t, path)
	if all, err := operator.Tags(within(t)); err != nil || len(all) != 1 || all[0].Next != 11 {
		t.Errorf("an operator sees %v, %v", all, err)
	}
	if err := operator.AdvanceAll(within(t), 1000); err != nil {
		t.Fatal(err)
	}
	wantTake(t, s, "a", 1011)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	wantOther(t, opened(t, path), "it has 0 changes of numbers")
	if err := os.WriteFile(path+".mark", nil, 0o600); err != nil { // as after a crash of the machine
		t.Fatal(err)
	}
	wantOther(t, opened(t, path), "it has 0 changes of numbers")
	if err := operator.AdvanceAll(within(t), 5000); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for tag, c := range map[string]struct {
		since time.Time
		first int64
	}{"a": {now.Add(-time.Hour), 5001}, "b": {now.Add(time.Hour), 1}, "c": {first: 1}} {
		err := s.Create(within(t), segment.Tag{Name: tag, Next: 1, Step: 10, Since: c.since})
		if err != nil {
			t.Fatal(err)
		}
		wantTake(t, s, tag, c.first)
	}
}

// TestStore_OlderMark: a mark that was not written after the file is no reason to refuse the file.
func TestStore_OlderMark(t *testing.T) {
	t.Parallel()
	s, path := made(t)
	old, err := os.ReadFile(path + ".mark")
	if err != nil {
		t.Fatal(err)
	}
	wantTake(t, s, "a", 1)
	if err := os.WriteFile(path+".mark", old, 0o600); err != nil {
		t.Fatal(err)
	}
	wantTake(t, opened(t, path), "a", 11)
}

// TestStore_Unreadable: a damaged file is an error that says what to do.
func TestStore_Unreadable(t *testing.T) {
	t.Parallel()
	s, path := made(t)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2]++
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = s.Take(within(t), "a", 10)
	if !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "it is damaged") ||
		!strings.Contains(err.Error(), "no number is handed out then until") {
		safetytest.Unless(t, err).Errorf("Take: %v", err)
	}
}

// TestOpen: what is wrong with a URL or a path is said.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, bad := range []string{
		"file://host/x", "file:///", "file:///x/", "file://u@/x", "file:///x?ttl=5s",
		"file:///x?namespace=a%0Ab",
	} {
		if _, err := segment.Open(within(t), bad, segment.OpenOptions{}); !errors.Is(err,
			segment.ErrInvalidConfig) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for path, says := range map[string]string{
		dir:                             "is not a regular file",
		filepath.Join(dir, "none", "x"): "its folder does not exist; create it",
		filepath.Join("/proc", "x"):     "no file can be made in it",
	} {
		made := segment.Tag{Name: "a", Next: 1, Step: 10}
		err := opened(t, path).Create(within(t), made)
		if !errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", path, err, says)
		}
	}
	s, path := made(t)
	wantTake(t, s, "a", 1)
	other, err := New(path, Options{Namespace: "other"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Take(within(t), "a", 10); !errors.Is(err, segment.ErrInvalidConfig) {
		t.Errorf("Take of another namespace: %v", err)
	}
}

// TestStormHeavy: processes take numbers while they are killed and stopped.
func TestStormHeavy(t *testing.T) {
	s, path := made(t)
	numbertest.Storm{URL: func(string) string { return "file://" + path }}.Run(t, s)
}

// takerEnv has a process take numbers at a URL, ten at a time, and print the first of each range.
const takerEnv = "UNALIKE_TEST_TAKER"

func take(url string) error {
	ctx := context.Background()
	s, err := segment.Open(ctx, url, segment.OpenOptions{})
	for err == nil {
		var r segment.Range
		if r, err = s.Take(ctx, "a", 10); err == nil {
			fmt.Println(r.First)
		}
	}
	return err
}

// TestTake_Killed: processes that are killed while they take numbers lose none that they handed
// out, and leave a file that others use at once.
func TestTake_Killed(t *testing.T) {
	t.Parallel()
	s, path := made(t)
	seen := map[int64]bool{}
	for range 5 {
		var all []*drivertest.Child
		for range 3 {
			c := drivertest.StartChild(t, takerEnv+"=file://"+path)
			all = append(all, c)
			noteLine(t, c.Line(t), seen)
		}
		for _, c := range all {
			c.Kill()
		}
		for _, c := range all {
			note(t, c.Lines, seen)
		}
		ctx, cancel := context.WithTimeout(t.Context(), segment.DefaultRefillTimeout)
		r, err := s.Take(ctx, "a", 10)
		cancel()
		if err != nil || seen[r.First] {
			safetytest.Unless(t, err).Errorf("after a kill: %v, %v", r, err)
		}
		seen[r.First] = true
	}
}

// note notes the ranges that a process has printed.
func note(t *testing.T, lines *bufio.Scanner, seen map[int64]bool) {
	t.Helper()
	for lines.Scan() {
		noteLine(t, lines.Text(), seen)
	}
}

// noteLine notes one of them.
func noteLine(t *testing.T, line string, seen map[int64]bool) {
	t.Helper()
	first, err := strconv.ParseInt(line, 10, 64)
	if err != nil || seen[first] {
		safetytest.Unless(t, err).Errorf("a process was given %q, %v", line, err)
	}
	seen[first] = true
}

// TestStore_CallsThatAreOver: who has given up shares nothing with what is still done for the call,
// which the race detector would report.
func TestStore_CallsThatAreOver(t *testing.T) {
	t.Parallel()
	s, _ := made(t)
	for i := range 100 {
		name := fmt.Sprintf("%s.20%02d", "a", i)
		if err := s.Create(within(t), segment.Tag{Name: name, Next: 1, Step: 10}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 1000 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Microsecond)
		all, err := s.Tags(ctx)
		if err != nil && all != nil {
			t.Errorf("Tags: %d and %v", len(all), err)
		}
		cancel()
		ctx, cancel = context.WithTimeout(t.Context(), time.Duration(i)*time.Microsecond)
		_, _ = s.GiveBack(ctx, "a", segment.Range{First: 2, Last: 5})
		cancel()
	}
}

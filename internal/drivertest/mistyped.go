package drivertest

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// holdersEach is how many worker IDs are held in each of two namespaces.
const holdersEach = 8

// MistypedNamespace checks what happens if an operator mistypes the name of a namespace: the log
// names the one that was meant, and the two have different worker IDs. Holders of a namespace have
// worker IDs in a row, so that 1 of 68 pairs of namespaces share some by chance: there are three
// tries.
func MistypedNamespace(tb testing.TB,
	open func(namespace string, log *slog.Logger) coord.Coordinator,
) {
	tb.Helper()
	shared := 0
	for range 3 {
		var held [2]map[int]bool
		prefix := rand.Text()[:8]
		for i, name := range []string{prefix + "-shop", prefix + "-shpo"} {
			lines := make(lines, 100)
			c := open(name, slog.New(slog.NewTextHandler(lines, nil)))
			held[i] = map[int]bool{}
			for range holdersEach {
				held[i][MustAcquire(tb, c, Request(Capacity)).WorkerID] = true
			}
			line := lines.wait(tb, "namespace created")
			if meant := " similar=" + prefix + "-shop "; strings.Contains(line, meant) != (i == 1) ||
				strings.Contains(line, "level=WARN") != (i == 1) {
				tb.Errorf("the log says %q of namespace %d", line, i+1)
			}
		}
		if shared = common(held[0], held[1]); shared == 0 {
			return
		}
	}
	tb.Errorf("%d of %d worker IDs are held in both namespaces", shared, holdersEach)
}

// common returns how many keys two maps have in common.
func common(a, b map[int]bool) (n int) {
	for k := range a {
		if b[k] {
			n++
		}
	}
	return n
}

// lines are those of a log.
type lines chan string

// Write implements [io.Writer].
func (l lines) Write(b []byte) (int, error) {
	l <- string(b)
	return len(b), nil
}

// wait returns the first line with a text, which may be logged in the background.
func (l lines) wait(tb testing.TB, text string) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), CallTime)
	defer cancel()
	for {
		select {
		case line := <-l:
			if strings.Contains(line, text) {
				return line
			}
		case <-ctx.Done():
			tb.Fatalf("the log has no line with %q", text)
		}
	}
}

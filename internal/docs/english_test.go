package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Limits of a sentence, in words: of every page 95 % have at most long of them, and none has more
// than longest.
const (
	long    = 25
	longest = 40
)

// riddles are turns of phrase that make somebody read a sentence twice.
var riddles = regexp.MustCompile(
	`(?i)\b(for certain|is to be|are to be|what became of|as long as ` +
		`[^.]* so that|who has [^.,]* knows|it is .{1,20} that it)\b`)

// older are pages that are still to be written anew: the list only shrinks.
var older = []string{"faults-report.md"}

// TestEnglish reads the prose of each page: short sentences, and none of the phrases that hide the
// actor.
func TestEnglish(t *testing.T) {
	pages := append(pagesIn(t, folder), filepath.Join(folder, "..", "README.md"))
	for _, page := range pages {
		if slices.Contains(older, filepath.Base(page)) {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			data, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			var over []string
			all := sentences(string(data))
			for _, s := range all {
				n := len(strings.Fields(s))
				if n > long {
					over = append(over, s)
				}
				if n > longest {
					t.Errorf("%d words, want %d at most: %s", n, longest, s)
				}
				if m := riddles.FindString(s); m != "" {
					t.Errorf("%q in: %s", m, s)
				}
			}
			if len(over)*20 > len(all) {
				t.Errorf("%d of %d sentences have more than %d words; want 5 %% at most:\n%s", len(over),
					len(all), long, strings.Join(over, "\n"))
			}
		})
	}
}

// pagesIn are the pages of a folder and those below it, without the model's.
func pagesIn(t *testing.T, folder string) []string {
	t.Helper()
	var pages []string
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "model" {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

var (
	fence    = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```")
	inline   = regexp.MustCompile("`[^`]*`")
	linked   = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	sentence = regexp.MustCompile(`[.!?]["')*]*(\s+|$)`)
	item     = regexp.MustCompile(`^\s*([-*]|\d+\.)\s+`)
)

// sentences are those of a page's paragraphs, items and cells of tables. A name in `code` is one
// word.
func sentences(page string) []string {
	page = fence.ReplaceAllString(page, "\n")
	page = inline.ReplaceAllString(page, "CODE")
	page = linked.ReplaceAllString(page, "$1")
	var blocks []string
	open := false
	for line := range strings.SplitSeq(page, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "", strings.HasPrefix(trimmed, "#"):
			open = false
		case strings.HasPrefix(trimmed, "|"):
			blocks = append(blocks, strings.Split(strings.Trim(trimmed, "|"), "|")...)
			open = false
		case open && !item.MatchString(line):
			blocks[len(blocks)-1] += " " + trimmed
		default:
			blocks = append(blocks, item.ReplaceAllString(line, ""))
			open = true
		}
	}
	var all []string
	for _, block := range blocks {
		for _, s := range sentence.Split(block, -1) {
			if len(strings.Fields(s)) > 1 {
				all = append(all, strings.TrimSpace(s))
			}
		}
	}
	return all
}

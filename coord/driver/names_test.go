package driver

import (
	"errors"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/unalike-id/unalike/coord"
)

func TestCheckNamespace(t *testing.T) {
	for _, good := range []string{
		"n", "orders.v1", "größe-1_x", strings.Repeat("x", 128), "...",
		"a=b",
	} {
		if err := CheckNamespace(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for name, want := range map[string]string{
		"":                       `namespace is empty; 1 to 128 bytes are allowed`,
		strings.Repeat("x", 129): `namespace is 129 bytes long; at most 128 are allowed`,
		"a/b": `namespace "a/b" contains '/'; none of / { } : * \ and no ` +
			`space is allowed`,
		"/a":      `namespace "/a" contains '/'; none of / { } : * \ and no space is allowed`,
		"{a":      `namespace "{a" contains '{'; none of / { } : * \ and no space is allowed`,
		"a}":      `namespace "a}" contains '}'; none of / { } : * \ and no space is allowed`,
		"a:b":     `namespace "a:b" contains ':'; none of / { } : * \ and no space is allowed`,
		"a*":      `namespace "a*" contains '*'; none of / { } : * \ and no space is allowed`,
		`a\b`:     `namespace "a\\b" contains '\\'; none of / { } : * \ and no space is allowed`,
		"a b":     `namespace "a b" contains ' '; none of / { } : * \ and no space is allowed`,
		"a\x00":   `namespace "a\x00" contains the unprintable character U+0000`,
		"a\x7f":   `namespace "a\x7f" contains the unprintable character U+007F`,
		"a\u200b": `namespace "a\u200b" contains the unprintable character U+200B`,
		"a\xff":   `namespace "a\xff" is not valid UTF-8`,
		".":       `namespace "." is reserved; choose another name`,
		"..":      `namespace ".." is reserved; choose another name`,
	} {
		wantInvalid(t, name, CheckNamespace(name), "unalike: invalid: "+want)
	}
}

// FuzzNamespace: a namespace is fit for a key of every back end.
func FuzzNamespace(f *testing.F) {
	for _, s := range []string{
		"", "orders", ".", "..", "a/b", "{a}", "a:b", "a*", `a\b`, "a b", "ä",
		"\xff", "a\u200b", strings.Repeat("x", coord.MaxName), strings.Repeat("x", coord.MaxName+1),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if err := CheckNamespace(s); err != nil {
			if !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "namespace") ||
				len(err.Error()) > 1000 {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		if s == "" || len(s) > coord.MaxName || path.Clean("/unalike/"+s+"/meta") != "/unalike/"+s+
			"/meta" || strings.ContainsAny(s, "/\\{}:* \x00\n\t") || !utf8.ValidString(s) {
			t.Errorf("%q is allowed", s)
		}
	})
}

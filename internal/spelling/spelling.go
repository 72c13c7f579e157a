// Package spelling finds the word that was meant where another one was written.
package spelling

import (
	"fmt"
	"strings"
	"unicode"
)

// Word returns the word of known that s is most like, or "" if none differs from it by
// at most so many bytes that were added, left out, replaced, or swapped with the next.
func Word(s string, known []string, most int) string {
	if len(s) > 40 {
		return ""
	}
	found := ""
	for _, word := range known {
		if d := distance(s, word); d <= most && d < len(word) {
			most, found = d-1, word
		}
	}
	return found
}

// Mistyped is by how many letters a word may differ from the one that was meant.
const Mistyped = 2

// Similar returns the names of known that a user may have meant by name, but for name itself. They
// differ from it only in case, in separators or in a plural s; or by one letter, if one of the two
// has 4 bytes or more; or by [Mistyped] letters, if name is longer than 8 bytes. Names that differ
// only in digits, such as shard-1 and shard-2, are a series and not similar.
func Similar(name string, known []string) []string {
	most := Mistyped
	if len(name) <= 8 {
		most = 1
	}
	var similar []string
	for _, other := range known {
		a, b := plain(name), plain(other)
		near := max(len(a), len(b)) >= 4 && distance(a, b) <= most
		if other != name && (a == b || near && withoutDigits(a) != withoutDigits(b)) {
			similar = append(similar, other)
		}
	}
	return similar
}

// plain returns a name in lower case without separators and without a plural s.
func plain(name string) string {
	name = strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(name))
	return strings.TrimSuffix(name, "s")
}

// withoutDigits returns a name without its digits.
func withoutDigits(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, name)
}

// DidYouMean asks whether the word of known was meant that s is most like; "" if there is none.
func DidYouMean(s string, known []string) string {
	if meant := Word(strings.ToLower(s), known, Mistyped); meant != "" {
		return "; did you mean " + meant + "?"
	}
	return ""
}

// UnknownKey says that a key of a file is none, which one was meant, and what is known. It does not
// repeat what may be a URL with a password.
func UnknownKey(key string, known []string) string {
	list := strings.Join(known, ", ")
	if strings.ContainsAny(key, "@/") {
		return "unknown key not shown, as it may contain a password; known are " + list
	}
	// They are in lower case, and have underscores.
	meant := Word(strings.ToLower(strings.ReplaceAll(key, "-", "_")), known, Mistyped)
	if meant != "" {
		return fmt.Sprintf("unknown key %.80q; did you mean %s? Known are %s", key, meant, list)
	}
	return fmt.Sprintf("unknown key %.80q; known are %s", key, list)
}

// distance is how many bytes have to be added, removed or replaced to make a into b, where two
// neighbours that were swapped count once.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := range len(a) {
		for j := range len(b) {
			cost := rows[i][j]
			if a[i] != b[j] {
				cost++
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = min(cost, rows[i][j+1]+1, rows[i+1][j]+1)
		}
	}
	return rows[len(a)][len(b)]
}

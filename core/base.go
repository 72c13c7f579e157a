package core

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// notation is a way to write a number as text.
type notation struct {
	name     string // as errors call it
	alphabet string // the digits, by value
	width    int    // the exact length; 0: any, without leading zeros
	allowed  string // the alphabet, as errors print it
	value    [256]int8
}

var (
	base10 = newNotation("decimal", "0123456789", 0, "digits 0 to 9")
	base62 = newNotation("base62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
		11, "letters and digits 0-9, A-Z and a-z")
	base32 = newNotation("base32", "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 13,
		"digits 0 to 9 and upper-case letters without I, L, O and U")
)

// newNotation fills in the table that gives the value of a digit, -1 for others.
func newNotation(name, alphabet string, width int, allowed string) notation {
	n := notation{name: name, alphabet: alphabet, width: width, allowed: allowed}
	for i := range n.value {
		n.value[i] = -1
	}
	for i, c := range []byte(alphabet) {
		n.value[c] = int8(i)
	}
	return n
}

// parse reads the number that s is in notation n. It is generic so that bytes need
// not be copied into a string.
func parse[T string | []byte](n *notation, s T) (ID, error) {
	if len(s) == 0 {
		return 0, n.invalid("", "it is empty")
	}
	for i := range len(s) {
		if n.value[s[i]] < 0 {
			return 0, n.badCharacter(string(s), i)
		}
	}
	switch {
	case n.width != 0 && len(s) != n.width:
		return 0, n.invalid(string(s), "it has %d characters instead of %d", len(s), n.width)
	case n.width == 0 && len(s) > 1 && s[0] == '0':
		return 0, n.invalid(string(s), "it has leading zeros; remove them")
	}
	radix, v := uint64(len(n.alphabet)), uint64(0)
	for i := range len(s) {
		hi, lo := bits.Mul64(v, radix)
		sum, carry := bits.Add64(lo, uint64(n.value[s[i]]), 0)
		if hi|carry != 0 || sum > math.MaxInt64 {
			return 0, n.invalid(string(s), "it is larger than 2^63 - 1, which is the largest ID")
		}
		v = sum
	}
	return ID(v), nil
}

// badCharacter says which character of s at byte i does not belong there, and for
// the usual mistakes, which one it is.
func (n *notation) badCharacter(s string, i int) error {
	r, size := utf8.DecodeRuneInString(s[i:])
	switch {
	case r == utf8.RuneError && size == 1:
		return n.invalid(s, "byte %d is 0x%02x, which is not UTF-8; allowed are %s", i, s[i], n.allowed)
	case i == 0 && (r == '-' || r == '+'):
		return n.invalid(s, "it starts with the sign %q; IDs have none", r)
	case unicode.IsSpace(r):
		return n.invalid(s, "it has white space, %q at byte %d; remove it", r, i)
	case r > unicode.MaxASCII && unicode.IsDigit(r):
		return n.invalid(s, "it has %q at byte %d, a digit of another script; allowed are %s", r, i,
			n.allowed)
	case unicode.IsLower(r) && strings.ContainsRune(n.alphabet, unicode.ToUpper(r)):
		return n.invalid(s, "it has the lower-case letter %q at byte %d; allowed are %s", r, i, n.allowed)
	}
	return n.invalid(s, "it has %q at byte %d; allowed are %s", r, i, n.allowed)
}

func (n *notation) invalid(s, format string, args ...any) error {
	return fmt.Errorf("%w: %s in %s: %s", ErrInvalidID, quote(s), n.name, fmt.Sprintf(format, args...))
}

// quote prints s for an error. An ID is short, so what is longer is cut: nobody
// wants a megabyte in a log.
func quote(s string) string {
	const most = 48
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q... (%d bytes)", s[:most], len(s))
}

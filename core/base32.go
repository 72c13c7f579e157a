package core

// base32Width is how many base32 digits 63 bits need.
const base32Width = 13

// Base32 returns the ID as 13 characters in Crockford's base32: digits and
// upper-case letters without I, L, O and U. It is padded with zeros, so that it
// sorts as text the way the IDs sort as numbers. [ParseBase32] reads it. For a
// negative ID, which no generator makes, the text is one that ParseBase32 refuses.
func (id ID) Base32() string {
	var b [base32Width]byte
	return string(id.AppendBase32(b[:0]))
}

// AppendBase32 appends what [ID.Base32] returns to b.
func (id ID) AppendBase32(b []byte) []byte {
	var digits [base32Width]byte
	for i, v := len(digits)-1, uint64(id); i >= 0; i-- {
		digits[i] = base32.alphabet[v&31]
		v >>= 5
	}
	return append(b, digits[:]...)
}

// ParseBase32 returns the ID that s is in base32. It reads what [ID.Base32] prints
// and nothing else: exactly 13 characters, at most 7ZZZZZZZZZZZZ, which is 2^63 - 1.
// Crockford's rules let a reader take lower case, hyphens, and O for 0; this one
// does not, because two spellings of one ID are two keys elsewhere. Errors wrap
// [ErrInvalidID] and name what is wrong and where.
func ParseBase32(s string) (ID, error) { return parse(&base32, s) }

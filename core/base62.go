package core

// base62Width is how many base62 digits 63 bits need.
const base62Width = 11

// Base62 returns the ID as 11 characters of 0-9, A-Z and a-z, padded with zeros, so
// that they sort as text by bytes the way the IDs sort as numbers. Databases that
// compare text without regard to case do not keep that order: use [ID.Base32] there.
// [ParseBase62] reads it. For a negative ID, which no generator makes, the text is
// one that ParseBase62 refuses.
func (id ID) Base62() string {
	var b [base62Width]byte
	return string(id.AppendBase62(b[:0]))
}

// AppendBase62 appends what [ID.Base62] returns to b.
func (id ID) AppendBase62(b []byte) []byte {
	var digits [base62Width]byte
	for i, v := len(digits)-1, uint64(id); i >= 0; i-- {
		digits[i] = base62.alphabet[v%62]
		v /= 62
	}
	return append(b, digits[:]...)
}

// ParseBase62 returns the ID that s is in base62. It reads what [ID.Base62] prints
// and nothing else: exactly 11 characters, at most AzL8n0Y58m7, which is 2^63 - 1.
// Errors wrap [ErrInvalidID] and name what is wrong and where.
func ParseBase62(s string) (ID, error) { return parse(&base62, s) }

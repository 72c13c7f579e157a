// Package near finds the word that was meant where another one was written.
package near

// Word returns the word of known that s is most like, or "" if none differs from it by
// at most so many bytes that were added, left out or replaced.
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

// distance is how many bytes have to be added, removed or replaced to make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

package pgdb

import "fmt"

// Text returns an expression that is a text, whatever the server's settings and encoding are. It
// has the collation of columns that name none: that of convert_from is "C", and an index of
// another collation is not used.
func Text(s string) string {
	return fmt.Sprintf(`convert_from(decode('%x', 'hex'), 'UTF8') COLLATE "default"`, s)
}

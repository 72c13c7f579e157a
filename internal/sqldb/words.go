package sqldb

// Words are what a database writes in its own way, for all that is stored in it.
type Words struct {
	Now     string // an expression: microseconds since 1970, by the server's clock
	Lineage string // an expression: text that names the server's history
	// Insert begins an INSERT that leaves the rows which are there, and Present ends it.
	Insert, Present string
	// Text is a literal that is compared by the collation of what it is compared with.
	Text func(s string) string
}

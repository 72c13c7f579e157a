package sqldb

// Class is what an error of a server means.
type Class int

// What errors mean.
const (
	Unknown   Class = iota // what was asked for may have been done
	Race                   // it was rolled back for somebody else; trying again helps
	Mismatch               // it was rolled back, because what was stored is not what was asked for
	Duplicate              // it was rolled back, because a row or a table is there already
	NoTables               // there is no such table
	Misfit                 // a table is there, and its columns are not what they have to be
	Denied                 // the rights do not allow it
	ReadOnly               // the server is a replica
	Refused                // the server does not let this user in: trying again cannot help
)

// Fault is an error whose class the client knows, and not the server.
type Fault struct {
	Class Class
	Says  string
	Err   error
}

// Error prints what it is and what was met.
func (f *Fault) Error() string { return f.Says + ": " + f.Err.Error() }

// Unwrap returns what was met.
func (f *Fault) Unwrap() error { return f.Err }

// Hidden is the error for tables that row-level security applies to. It has a verb for their names.
const Hidden = "row-level security applies to this user in the tables %v, and can hide rows that " +
	"count; run ALTER TABLE ... DISABLE ROW LEVEL SECURITY, or ALTER ROLE ... BYPASSRLS"

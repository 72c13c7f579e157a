package sqldb

// Class is what an error of a server means.
type Class int

// What errors mean.
const (
	Unknown   Class = iota // what was asked for may have been done
	Race                   // it was rolled back, because somebody else was in its way; trying again helps
	Duplicate              // it was rolled back, because a row or a table is there already
	NoTables               // there is no such table
	NoColumn               // there is no such column in a table that is there
	Denied                 // the rights do not allow it
	ReadOnly               // the server is a replica
	Refused                // the server does not let this user in: trying again cannot help
)

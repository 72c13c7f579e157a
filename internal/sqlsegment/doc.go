// Package sqlsegment is what the stores of package segment in SQL databases share: when a range may
// be taken, why it was not, and which server this is. A database says in a [Dialect] how its
// statements are written, and in a [DB] how they are sent.
//
// The table is Leaf's, and means what it means there: a take adds the step to max_id and owns the
// numbers from the old value to the new one less one. Beside it there is a table of our own,
// unalike_meta, which has the identity of the server: a program that starts on a promoted replica
// has no other way to notice that the last ranges may be missing. A row is for all tags of a table,
// or for one tag that somebody has advanced since. The row with the highest stamp counts.
package sqlsegment

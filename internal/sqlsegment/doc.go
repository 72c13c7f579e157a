// Package sqlsegment is what the stores of package segment in SQL databases share: when a range may
// be taken, why it was not, and which server this is. A database says in a [Dialect] how its
// statements are written, and in a [DB] how they are sent.
//
// The table is Leaf's, and means what it means there: a take adds the step to max_id and owns the
// numbers from the old value to the new one less one. Beside it there is a table of our own,
// unalike_meta. Its record names the server that ranges may be taken from: a program that starts on
// a promoted replica has no other way to notice that the last ranges may be missing. Names of rows
// begin with that of the table:
//
//	leaf_alloc              the record: the server, or why nothing may be taken, and its stamp
//	leaf_alloc!minutes      a number that rises once a minute while ranges are taken
//	leaf_alloc:TAG          why nothing may be taken of a tag, if the stamp is above the record's
//	leaf_alloc!skipped:N    on which day all tags were raised, and by how many numbers
//	leaf_alloc!pruned:TAG   the day before which groups of a tag were removed
//
// A take that finds another server, or a record or minutes that went back, changes the record, and
// every program refuses until somebody raises all tags. A take that finds a row below what the
// program was given does so for its tag only.
package sqlsegment

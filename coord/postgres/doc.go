// Package postgres leases worker IDs in a PostgreSQL database. See package coord for the
// rules, and package protocol for how a lease is decided about; this package stores.
//
// # What is stored
//
// Three tables, for all namespaces of a database. They are made when a namespace is made,
// if the rights allow that.
//
//   - unalike_namespaces: the record of each namespace, and its lineage: the database cluster and
//     timeline in which it was settled last
//   - unalike_slots: the slot of each worker ID that was ever granted or retired, the token that
//     leads to it, and when its lease ends, in microseconds since 1970 by the server's clock
//   - unalike_identities: the worker ID that each identity had last
//
// Each row has a version that counts its writes, and a stamp that is random with every write:
// versions come again after a restored dump, stamps do not.
//
// # Transactions
//
// Each change is one transaction in one round trip. It locks the row of the namespace FOR
// SHARE before it looks at anything, so that no floor is raised between its look and its
// write, whatever the isolation level. It asks for synchronous_commit, so that a commit that is
// confirmed is kept.
package postgres

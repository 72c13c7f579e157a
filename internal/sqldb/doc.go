// Package sqldb holds what worker IDs and segments need alike of an SQL database: where its
// server is, as a URL says it, what a transaction is, and what errors mean. Packages pgdb and
// mysqldb below are the databases: connections, sessions, transactions with everything set that
// they depend on, the server's clock and lineage, literals, risks.
package sqldb

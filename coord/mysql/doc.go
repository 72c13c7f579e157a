// Package mysql leases worker IDs in a MySQL (8.0 and later) or MariaDB (10.6 and later)
// database. See package coord for the rules. What is stored, and how, is said in
// internal/sqlstore, which this driver shares with package postgres.
//
// # Transactions
//
// Each call to the server is one transaction of several statements in one round trip, for
// which a pool is needed whose configuration has MultiStatements. All of them have the isolation
// level repeatable read, whatever the server's is; where it matters rows are locked, and read
// after that. Arguments are hexadecimal literals, so that neither sql_mode nor the connection's
// character set changes what they mean; keys and records are binary; and times are numbers.
//
// # What a server must keep
//
// A commit that was confirmed must be there after a crash. A server of which innodb_flush_log_at_trx_commit,
// or sync_binlog where it has a binary log, is not 1 is refused, unless that is accepted; so is semi-synchronous replication
// that waits too late or has fallen back to asynchronous, and Galera, which does not carry the
// locks of rows from one node to another: accept single_writer where all programs write to the same node.
//
// A server that takes over has another server ID, and so it is noticed that writes may be lost
// with the old one: nothing is granted until the windows that they may have had are over. Every
// server of a replication topology has a server_id or server_uuid of its own anyway. MariaDB's
// lineage has its host name and port, too: one that moves is one that was replaced.
package mysql

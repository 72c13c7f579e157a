// Package sqldb holds what worker IDs and segments need alike of an SQL database: where its
// server is, as a URL says it, and what its errors mean. Packages pgdb and mysqldb below connect.
package sqldb

// Package tlsfiles makes settings of TLS from files that are replaced while a program runs:
// certificates of authorities, and a certificate with its key. They are read for each connection,
// so that a connection that is made after a rotation has the new ones.
package tlsfiles

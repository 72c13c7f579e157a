// Package tlsfiles reads the certificates that a coordinator URL names in its options
// ca, cert and key. The drivers whose servers speak TLS share it.
package tlsfiles

// Package rotation tests on real servers that programs go on when files are replaced: certificates
// of authorities, certificates and keys, users and passwords. Its table of back ends has all that
// connect to a server; package coord/kubernetes has the tests of an API server, and cmd/unalike
// those of the service and of package client.
package rotation

package drivers

import "sync"

// ports leads from a scheme to the port of its URLs that name none.
var ports sync.Map

// SetPort says which port the servers of a scheme listen on unless its URLs name another one.
// Drivers call it from init.
func SetPort(scheme, port string) { ports.Store(scheme, port) }

// Port returns that port; empty: the URLs of the scheme name no servers, or no driver of it is
// known.
func Port(scheme string) string {
	port, _ := ports.Load(scheme)
	s, _ := port.(string)
	return s
}

package drivers

// Question is what to ask whoever gave the address of what does not answer as a server does,
// "an etcd" for example. Secure: it was asked with TLS.
func Question(server string, secure bool) string {
	with := ""
	if secure {
		with = ", with TLS"
	}
	return "is it the port of " + server + " for clients" + with + "?"
}

package coord

// Description is what a coordinator says of itself.
type Description struct {
	// Rules are those of its leases.
	Rules LeaseRules
	// Warnings say what the coordinator, as it is configured, cannot protect against, one
	// sentence each without a final period. Generators show them in their health. Nil: nothing
	// to warn of.
	Warnings []string
	// Place names the namespace among all others as far as this machine's configuration tells:
	// the kind of back end, its hosts, and everything else that selects another namespace, such
	// as a database, a prefix or a path. Two coordinators with the same Place, on one machine,
	// lead to the same namespace. The text is the same at each start with the same
	// configuration, has no password in it, and is not parsed by anybody. Empty: it is not known.
	Place string
}

// Describe returns what c reports about itself if it has the method Describe of an
// [AdminCoordinator], and the zero Description otherwise.
func Describe(c Coordinator) Description {
	if d, ok := c.(interface{ Describe() Description }); ok {
		return d.Describe()
	}
	return Description{}
}

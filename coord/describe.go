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

// Describer is implemented by coordinators that have something to say of themselves.
type Describer interface {
	// Describe returns it. It does not block, and the caller may keep the result.
	Describe() Description
}

// Describe returns what c says of itself: the zero Description if it is no [Describer].
func Describe(c Coordinator) Description {
	if d, ok := c.(Describer); ok {
		return d.Describe()
	}
	return Description{}
}

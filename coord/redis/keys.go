package redis

// The braces put all keys of a namespace into one slot of a Cluster: that is what
// scripts need there. The scripts know the other names; they all begin like this one.

// keyPrefix is what all keys of a namespace begin with.
func keyPrefix(namespace string) string { return "{" + namespace + "}:" }

// slotsKey is the hash that has everything that must not be forgotten.
func slotsKey(namespace string) string { return keyPrefix(namespace) + "slots" }

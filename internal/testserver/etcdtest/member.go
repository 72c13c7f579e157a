package etcdtest

// Main runs a member and ends the process if it was started to be one.
func Main() {}

package mutants

// keeperMutants break the loop that keeps a worker ID.
var keeperMutants = []mutant{}

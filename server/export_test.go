package server

// MaxWatches is how many streams there may be.
const MaxWatches = maxWatches

// AddWatches counts n streams that are not there.
func (s *Server) AddWatches(n int32) { s.watches.Add(n) }

// AddHealths counts n streams of the health check that are not there.
func (s *Server) AddHealths(n int32) { s.healths.Add(n) }

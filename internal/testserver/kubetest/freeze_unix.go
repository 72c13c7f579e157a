//go:build unix

package kubetest

import "testing"

// Freeze stops the API server without ending it, and Thaw lets it go on.
func (s *Server) Freeze(tb testing.TB) { tb.Helper(); s.proc.Freeze(tb) }

// Thaw ends what Freeze has begun.
func (s *Server) Thaw(tb testing.TB) { tb.Helper(); s.proc.Thaw(tb) }

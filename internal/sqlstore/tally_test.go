package sqlstore

import (
	"testing"

	"github.com/unalike-id/unalike/internal/protocol"
)

// TestTally_LateAnswer: an answer of before a loss that comes late does not make the store forget
// how many writes it has counted since.
func TestTally_LateAnswer(t *testing.T) {
	counted := func(loss string, writes int64) *answer {
		meta := protocol.Meta{Nonce: "namespace", Loss: protocol.Loss{Nonce: loss}}
		return &answer{meta: protocol.Entry[protocol.Meta]{Record: meta, Made: 1}, writes: writes}
	}
	s := &store{}
	s.undone(s.tallied(), counted("", 50), 0)
	early := s.tallied()
	s.undone(s.tallied(), counted("loss", 100), 0)
	if n := s.undone(early, counted("", 51), 0); n != 0 {
		t.Errorf("%d writes are missing in an answer of before a loss", n)
	}
	if n := s.undone(s.tallied(), counted("loss", 80), 0); n != 20 {
		t.Errorf("%d writes are missing after an answer of before the loss came late; want 20", n)
	}
}

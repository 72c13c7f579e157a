package etcd

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/unalike-id/unalike/internal/protocol"
)

// memory is what a coordinator has seen of its cluster. Revisions of etcd only
// rise, a cluster keeps its ID, and a namespace its nonce; where that is not so, writes
// were lost, and windows with them.
//
// Each loss that was dealt with begins an era: what was seen before it tells nothing of
// what comes after.
type memory struct {
	now func() int64 // microseconds since 1970

	mu      sync.Mutex
	era     int64
	raised  int64 // the era that began when this coordinator raised the floor last
	cluster uint64
	highest int64
	seen    int64 // when cluster and highest were seen
	meta    *protocol.Meta
	metaRev int64
	metaAt  int64            // when meta was seen
	lost    string           // what shows that writes were lost; empty: nothing does
	proofs  map[string]int64 // of that: the nonce of the loss known then, and when the newest was seen
	mixed   bool             // replies have come from clusters with different IDs
	doubt   doubt
	raising chan struct{} // held while the floor is raised, so that it is raised once
}

func newMemory(now func() int64) *memory { return &memory{now: now, raising: make(chan struct{}, 1)} }

// sight is what had been seen at one moment. What is asked for after that moment can
// only be newer; if it is not, that is proof of a loss.
type sight struct {
	era, highest, seen int64
	meta               *protocol.Meta
	metaRev, metaAt    int64
}

// knew is the nonce of the loss that was known.
func (s sight) knew() string {
	if s.meta == nil {
		return ""
	}
	return s.meta.Loss.Nonce
}

// sight returns what has been seen so far.
func (m *memory) sight() sight {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sight{m.era, m.highest, m.seen, m.meta, m.metaRev, m.metaAt}
}

// sound reports whether what was seen in an era can be relied on: nothing was lost
// since.
func (m *memory) sound(era int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.era == era && m.lost == ""
}

// prove notes that writes were lost. The evidence was seen at a time when the loss
// with the nonce knew was the last one known. The caller holds mu.
func (m *memory) prove(why, knew string, seen int64) {
	if m.proofs == nil {
		m.proofs = map[string]int64{}
	}
	m.lost = why
	m.proofs[knew] = max(m.proofs[knew], seen)
}

// learn takes note of the header of a reply, which answers a request made after a sight.
func (m *memory) learn(at sight, h *pb.ResponseHeader) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case at.era != m.era:
	case m.cluster != 0 && h.GetClusterId() != m.cluster:
		m.mixed = true
		m.prove(fmt.Sprintf("the cluster's ID was %x and is %x", m.cluster, h.GetClusterId()), at.knew(), at.seen)
	case h.GetRevision() < at.highest:
		m.prove(fmt.Sprintf("the cluster's revision was %d and is %d", at.highest, h.GetRevision()), at.knew(), at.seen)
	case m.lost == "": // what shows the loss is kept as it is until that is dealt with
		m.cluster, m.seen = h.GetClusterId(), m.now()
		m.highest = max(m.highest, h.GetRevision())
	}
}

// know remembers the namespace as a request has read it that was made after a sight,
// and notices if it is another one than before. Replies are not handled in the order
// in which they were read, so one may be older than what is remembered by now.
func (m *memory) know(at sight, meta protocol.Meta, rev int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case at.era != m.era:
	case at.meta != nil && at.meta.Nonce != meta.Nonce:
		m.prove("the namespace was deleted and made again", at.knew(), at.metaAt)
	case at.meta != nil && at.metaRev > rev:
		m.prove(fmt.Sprintf("the revision of the namespace was %d and is %d", at.metaRev, rev), at.knew(), at.metaAt)
	case m.lost == "" && (m.meta == nil || m.metaRev <= rev):
		m.meta, m.metaRev, m.metaAt = &meta, rev, m.now()
	}
}

// clusterID returns the ID of the cluster; 0: no reply has come yet.
func (m *memory) clusterID() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cluster
}

// suspect takes note of another proof of a loss, which was found in an era: known is
// what was seen once.
func (m *memory) suspect(era int64, why string, known *view) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if era == m.era {
		m.prove(why, known.meta.Loss.Nonce, known.seen)
	}
}

// foreign takes note that what is stored came from another cluster. Nobody knows when.
func (m *memory) foreign(era int64, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if era == m.era {
		m.prove(why, "", m.now())
	}
}

// loss returns what shows that writes were lost; empty: nothing does.
func (m *memory) loss() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost
}

// known returns the namespace as it was seen last.
func (m *memory) known() *protocol.Meta {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.meta
}

// severalClusters reports whether replies have come from different clusters.
func (m *memory) severalClusters() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mixed
}

// settle forgives if the loss on record in a namespace explains all that shows that
// writes were lost, and reports whether it does.
func (m *memory) settle(h *pb.ResponseHeader, meta protocol.Meta, rev int64, bound time.Duration) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for knew, seen := range m.proofs {
		if !meta.Settles(knew, seen, MaxHorizon, bound) {
			return false
		}
	}
	if len(m.proofs) == 0 {
		return false
	}
	m.begin(h, meta, rev)
	return true
}

// dealtWith reports whether this coordinator has raised the floor since an era.
func (m *memory) dealtWith(era int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return era < m.raised
}

// forgive starts again with the state that the cluster has now that the floor was
// raised, and returns the era that this begins.
func (m *memory) forgive(h *pb.ResponseHeader, meta protocol.Meta, rev int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begin(h, meta, rev)
	m.raised = m.era
	return m.era
}

// begin begins an era with what is stored now. The caller holds mu.
func (m *memory) begin(h *pb.ResponseHeader, meta protocol.Meta, rev int64) {
	now := m.now()
	m.cluster, m.highest, m.seen = h.GetClusterId(), h.GetRevision(), now
	m.meta, m.metaRev, m.metaAt = &meta, rev, now
	m.lost, m.proofs, m.mixed = "", nil, false
	m.doubt.rev = min(m.doubt.rev, m.highest) // revisions begin anew where writes were lost
	m.era++
}

// doubt says since when the floor may be too far ahead, because a wrong clock has raised
// it; zero: it is not.
type doubt struct {
	rev  int64     // of the cluster, or less
	when time.Time // monotonic
	mine bool      // the clock that may be wrong is this one
}

// setDoubt notes that there is a doubt, or that there is none any more.
func (m *memory) setDoubt(d doubt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubt = d
}

// doubted returns what setDoubt has noted.
func (m *memory) doubted() doubt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.doubt
}

// clusterName is what is stored of a cluster's ID.
func clusterName(id uint64) string { return strconv.FormatUint(id, 16) }

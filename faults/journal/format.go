package journal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
)

// ErrDamaged is wrapped by the errors about files that no [Writer] leaves behind,
// whenever it is killed.
var ErrDamaged = errors.New("journal: damaged file")

// Header says whose IDs a journal has.
type Header struct {
	// Generator is the unique name of one generator instance. A generator that is made
	// again, after a restart for example, has another name. Several journals may belong to one
	// instance, one for each goroutine that takes IDs from it.
	Generator string
	// PID is the process of the generator.
	PID int
	// Layout is that of the generator.
	Layout core.Layout
	// Workers are the worker IDs that the generator may lease. The zero Range means
	// all that the layout has.
	Workers coord.Range
	// Numbers is set if these are plain numbers of a segment and no IDs: numbers of several processes
	// lie side by side, so that a tick, of which they have none, belongs to nobody. The layout only says how they are divided into runs.
	Numbers bool `json:",omitempty"`
	// Served is set if the IDs came from servers over the network, each of which gives IDs of one tick to several processes.
	Served bool `json:",omitempty"`
}

// Run is a number of consecutive IDs: First, First+1, and so on, Count of them. All lie
// in one tick of one worker ID. From and To are when the first and the last of them were
// added, see [Now].
type Run struct {
	First    core.ID
	Count    int64
	From, To int64
}

const (
	magic      = "unalike1"
	headSize   = 4096
	jsonAt     = 56
	maxJSON    = headSize - jsonAt
	recordSize = 40
)

// The words of the head, as indexes of 8 bytes.
const (
	wordMagic = iota
	wordRuns
	wordIssued
	wordLast
	wordClosed
	wordJSONLength
	wordJSONSum
)

var table = crc64.MakeTable(crc64.ECMA)

// seal returns the checksum of the run that has the given index. It is never 0, which
// means that a run is not sealed.
func (r Run) seal(index int64) uint64 {
	var b [recordSize]byte
	for i, v := range []int64{index, int64(r.First), r.Count, r.From, r.To} {
		binary.LittleEndian.PutUint64(b[8*i:], uint64(v))
	}
	return max(crc64.Checksum(b[:], table), 1)
}

// Shares reports whether others may have IDs of the same tick.
func (h Header) Shares() bool { return h.Numbers || h.Served }

// tick returns the tick and worker ID that id lies in, as one number.
func tick(l core.Layout, id core.ID) int64 { return int64(id) >> l.SequenceBits }

// whole reports whether the run has IDs, all in one tick of one worker ID.
func (r Run) whole(l core.Layout) bool {
	return r.Count > 0 && r.Count <= int64(1)<<l.SequenceBits && tick(l, r.First) == tick(l, r.First+core.ID(r.Count-1))
}

// check reports whether the header is complete.
func (h Header) check() error {
	if h.Generator == "" {
		return errors.New("Header.Generator is empty; it is the unique name of a generator instance")
	}
	if err := h.Layout.Validate(); err != nil {
		return fmt.Errorf("Header.Layout: %w", err)
	}
	_, err := h.Workers.Within(h.Layout.Workers())
	return err
}

// encode returns the JSON of the header.
func (h Header) encode() ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(h)
	if err == nil && len(text) > maxJSON {
		err = fmt.Errorf("the header is %d bytes long as JSON; at most %d are allowed; use a shorter name", len(text), maxJSON)
	}
	return text, err
}

// decodeHeader reads the header from the head of a file.
func decodeHeader(head []byte) (Header, error) {
	word := func(i int) uint64 { return binary.NativeEndian.Uint64(head[8*i:]) }
	if string(head[:8]) != magic {
		return Header{}, fmt.Errorf("%w: it begins with %q instead of %q", ErrDamaged, head[:8], magic)
	}
	length := word(wordJSONLength)
	if length > maxJSON {
		return Header{}, fmt.Errorf("%w: the header's length is %d; at most %d is possible", ErrDamaged, length, maxJSON)
	}
	text := head[jsonAt : jsonAt+length]
	if sum := crc64.Checksum(text, table); sum != word(wordJSONSum) {
		return Header{}, fmt.Errorf("%w: the header's checksum is %x and should be %x", ErrDamaged, sum, word(wordJSONSum))
	}
	var h Header
	if err := json.Unmarshal(text, &h); err != nil {
		return Header{}, fmt.Errorf("%w: the header: %w", ErrDamaged, err)
	}
	if err := h.check(); err != nil {
		return Header{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return h, nil
}

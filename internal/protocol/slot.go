package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
)

// Slot is the window of one worker ID and who has it.
type Slot struct {
	Version     int    `json:"version"`
	Worker      int    `json:"worker"`
	Token       string `json:"token"` // empty: released or retired
	Identity    string `json:"identity"`
	Holder      string `json:"holder"`
	Generation  uint64 `json:"generation"`
	Opened      int64  `json:"opened"` // NotBefore of the generation's first piece
	NotBefore   int64  `json:"notBefore"`
	NotAfter    int64  `json:"notAfter"`
	LastTick    int64  `json:"lastTick"`
	Fingerprint string `json:"fingerprint"`
	Since       int64  `json:"since"`   // the holder's clock at the acquisition
	Renewed     int64  `json:"renewed"` // and at the last renewal
	TTL         int64  `json:"ttl"`     // milliseconds
	Retired     bool   `json:"retired"`
}

// Check implements [Record].
func (s Slot) Check() error {
	switch {
	case s.Generation == 0:
		return errors.New("generation is 0; it starts at 1")
	case s.NotBefore < 0:
		return fmt.Errorf("notBefore is %d; a tick is 0 or more", s.NotBefore)
	case s.NotAfter < s.NotBefore:
		return fmt.Errorf("notAfter is %d and notBefore is %d; a window does not end before it begins",
			s.NotAfter, s.NotBefore)
	case s.Opened < 0 || s.Opened > s.NotAfter:
		return fmt.Errorf("opened is %d; it is between 0 and notAfter, which is %d", s.Opened, s.NotAfter)
	case s.NotAfter > s.LastTick:
		return fmt.Errorf("notAfter is %d; the layout ends at tick %d", s.NotAfter, s.LastTick)
	case s.TTL <= 0:
		return fmt.Errorf("ttl is %d ms; it is 1 or more", s.TTL)
	case s.Retired && s.Token != "":
		return errors.New("it is retired and has a token; one of them is wrong")
	}
	return nil
}

// Lease is the TTL that the holder asked for.
func (s Slot) Lease() time.Duration { return time.Duration(s.TTL) * time.Millisecond }

// Holds tells whether a grant with this token and generation is the slot's, by rules
// 6 and 9 of package coord.
func (s Slot) Holds(token string, generation uint64) bool {
	return s.Token == token && s.Generation == generation && token != "" //mutant:holds-generation
}

// Grant is the last stored piece as a grant, with the driver's handle.
func (s Slot) Grant(handle any) coord.Grant {
	return coord.Grant{
		WorkerID: s.Worker, Generation: s.Generation, Token: s.Token,
		NotBefore: s.NotBefore, NotAfter: s.NotAfter, Handle: handle,
	}
}

// Extended is the slot after a renewal of g until a tick, by rules 6 and 7. From is
// NotBefore of the result. If grows is false, the window cannot grow below the floor:
// the lease is kept, and the slot ends where it did, or where g does if the back end has
// forgotten that.
func (s Slot) Extended(g coord.Grant, floor, until, now int64) (next Slot, from int64, grows bool) {
	next, from = s, g.NotBefore
	next.Renewed = now
	next.NotAfter = min(max(next.NotAfter, g.NotAfter), next.LastTick) //mutant:stored-max
	notAfter := min(max(next.NotAfter, until), next.LastTick)
	if cut := max(floor, next.NotBefore); cut > g.NotAfter { //mutant:renewal-floor
		// The window of this caller ends below it, whatever is stored.
		if cut >= min(notAfter, next.LastTick-1) { // the last tick may lie in a window that was lost
			return next, from, false
		}
		from, next.NotBefore = cut, cut
	}
	next.NotAfter = notAfter
	return next, from, true
}

// Resumed is the slot of a grant that is taken over under another token, beside its
// renewal, see [coord.Resumer].
func (s Slot) Resumed(token string) Slot {
	s.Token, s.Generation = token, s.Generation+1
	return s
}

// Trimmed is the slot after the release of g, by rule 9: what lies above the last tick
// stamped goes to the next holder. What the back end has forgotten of the window, the
// holder may have stamped.
func (s Slot) Trimmed(g coord.Grant, last int64) Slot {
	s.Token = ""
	s.NotAfter = min(max(s.NotAfter, g.NotAfter), s.LastTick)
	s.NotAfter = min(s.NotAfter, max(last, s.NotBefore)) //mutant:trim-stamped
	return s
}

// Withdrawn is the slot of a worker ID that is retired. Its new generation has the
// holder's next renewal refused. A slot that was never granted is the zero Slot.
func (s Slot) Withdrawn(meta Meta, worker int, now int64) Slot {
	if s.Generation == 0 {
		s = Slot{
			Version: Version, Worker: worker, LastTick: meta.LastTick, Fingerprint: meta.Fingerprint,
			Since: now, TTL: 1,
		}
	}
	s.Token, s.Retired, s.Generation, s.Renewed = "", true, s.Generation+1, now
	return s
}

// Lost is the error of a grant whose slot is somebody else's. The zero Slot is one
// that is not there.
func (s Slot) Lost(g coord.Grant) error {
	switch {
	case s.Generation == 0:
		return fmt.Errorf("%w: %v: its slot is not there", coord.ErrLeaseLost, g)
	case s.Retired:
		return fmt.Errorf("%w: %v: the worker ID was retired", coord.ErrLeaseLost, g)
	case s.Token == "":
		return fmt.Errorf("%w: %v: it was released", coord.ErrLeaseLost, g)
	}
	return fmt.Errorf("%w: %v: %q has it since %s, with generation %d", coord.ErrLeaseLost, g,
		s.Holder, Stamp(s.Since), s.Generation)
}

// Listed is the slot as an operator sees it.
func (s Slot) Listed(meta Meta, owned bool) coord.Slot {
	out := coord.Slot{
		WorkerID: s.Worker, State: coord.SlotFree, Layout: s.Fingerprint, Holder: s.Holder,
		Identity: s.Identity, Generation: s.Generation,
		NotBefore: s.NotBefore, NotAfter: s.NotAfter, Until: Time(meta.Scale().Micro(s.NotAfter + 1)),
		Since: Time(s.Since), Renewed: Time(s.Renewed), TTL: s.Lease(),
	}
	switch {
	case s.Retired:
		out.State = coord.SlotRetired
	case owned:
		out.State = coord.SlotHeld
	}
	return out
}

package local

import "github.com/unalike-id/unalike/coord"

// entry is one grant of the back end.
type entry struct {
	Worker int `json:"worker"`
	// Pair is what the back end has answered with last, and Sent, unless its token is empty, what
	// is made of that with the token that may have been sent since. It may have stored either.
	Pair pair `json:"pair"`
	Sent pair `json:"sent"`
	// Current is the window in which the mark lies, and Next what the back end has granted above
	// a floor, empty: nothing. What lies between the two is nobody's.
	Current piece `json:"current"`
	Next    piece `json:"next"`
	// Mark is the tick above which nothing was stamped.
	Mark   int64  `json:"mark"`
	Layout string `json:"layout"`
	// Place is where its namespace lives, and may be another one than that of the grant
	// beside it; Nonce is the namespace's, empty if it is not known.
	Place    string `json:"place"`
	Nonce    string `json:"nonce"`
	Identity string `json:"identity"`
	// TTL is that of the lease in the back end, in microseconds.
	TTL int64 `json:"ttl"`
	// Renewed is when the back end has extended the window last, in microseconds since 1970.
	Renewed int64 `json:"renewed"`

	taken bool // by a holder of this process
}

// pair tells one holder of a worker ID from another.
type pair struct {
	Generation uint64 `json:"generation"`
	Token      string `json:"token"`
}

// piece is a window (From, To].
type piece struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// last is the newest piece.
func (e *entry) last() *piece {
	if e.Next.To > 0 {
		return &e.Next
	}
	return &e.Current
}

// enter goes on in the next piece, if there is one and the current one is used up.
func (e *entry) enter() {
	if e.Next.To > 0 && e.Mark >= e.Current.To {
		e.Current, e.Next = e.Next, piece{}
		e.Mark = max(e.Mark, e.Current.From)
	}
}

// grant is the last piece of the entry as the back end has it.
func (e *entry) grant() coord.Grant {
	last := e.last()
	return coord.Grant{
		WorkerID: e.Worker, Generation: e.Pair.Generation, Token: e.Pair.Token,
		NotBefore: max(last.From, min(e.Mark, last.To)), NotAfter: last.To,
	}
}

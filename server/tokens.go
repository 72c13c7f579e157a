package server

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/unalike-id/unalike/internal/drivers"
)

// right is what a caller may do.
type right uint8

// The rights.
const (
	mayGenerate right = 1 << iota
	mayOperate
	// anyone stands for no right at all.
	anyone right = 0
)

const (
	minToken = 16
	maxToken = 4 << 10
)

// TokenFile is a file with one token, and what its bearer may do.
type TokenFile struct {
	Path string
	// Generate lets the bearer have IDs and numbers, and read layouts.
	Generate bool
	// Operate lets the bearer see metrics, health and who holds what.
	Operate bool
	// PerSecond is how many IDs and numbers the bearers of the token may have in a second, together.
	// 0: as many as there are.
	PerSecond int
}

// may returns the rights that the token gives.
func (f TokenFile) may() (r right) {
	if f.Generate {
		r |= mayGenerate
	}
	if f.Operate {
		r |= mayOperate
	}
	return r
}

// tokens are the tokens of a server, read from files. They are safe for concurrent use.
type tokens struct {
	files   []TokenFile
	limits  []*rate.Limiter // of the files; nil: none
	reading sync.Mutex      // held while the files are read
	current atomic.Pointer[reading]
	read    atomic.Int64 // when all files could be read, in Unix seconds; 0: not yet
}

// token is kept as a hash: comparing two of them says nothing about the lengths of what they hash.
type token struct {
	sum [sha256.Size]byte
	caller
}

// caller is what the bearer of a token has.
type caller struct {
	may   right
	limit *rate.Limiter // nil: none
}

// newTokens checks what the files give. It does not read them: reload does.
func newTokens(files []TokenFile) (*tokens, error) {
	t := &tokens{files: slices.Clone(files), limits: make([]*rate.Limiter, len(files))}
	t.current.Store(&reading{all: make([]token, len(files))})
	for i, f := range files {
		if !f.Generate && !f.Operate {
			return nil, invalid("token file %s: it gives no right; set Generate, Operate or both", f.Path)
		}
		if f.PerSecond < 0 {
			return nil, invalid("token file %s: PerSecond is %d; it is a positive number, 0 means no limit",
				f.Path, f.PerSecond)
		}
		if f.PerSecond > 0 {
			t.limits[i] = rate.NewLimiter(rate.Limit(f.PerSecond), f.PerSecond)
		}
	}
	return t, nil
}

// reload reads the files and reports whether any token has changed. A file that cannot be read
// keeps its last token. The errors name the files, never show what is in them, and wrap
// [coord.ErrInvalid].
func (t *tokens) reload() (changed bool, err error) {
	t.reading.Lock()
	defer t.reading.Unlock()
	old := t.current.Load()
	next := &reading{all: slices.Clone(old.all)}
	var errs []error
	for i, f := range t.files {
		text, err := readToken(f.Path)
		if err != nil {
			errs = append(errs, invalid("token file %s: %w", f.Path, err))
			continue
		}
		next.all[i] = token{sha256.Sum256(text), caller{f.may(), t.limits[i]}}
	}
	if next.err = errors.Join(errs...); next.err == nil {
		t.read.Store(time.Now().Unix()) //nolint:forbidigo // metrics have the machine's time
	}
	t.current.Store(next)
	return !slices.Equal(old.all, next.all), next.err
}

// reading is what the files had when they were read last.
type reading struct {
	all []token // of the files; without a right: it was never read
	err error   // why some are older
}

// readToken reads a file with one line.
func readToken(path string) ([]byte, error) {
	text, err := drivers.ReadFile(path, maxToken+len("\r\n"))
	if err != nil {
		var pathErr *os.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	text = bytes.TrimRight(text, "\r\n")
	switch {
	case len(text) < minToken || len(text) > maxToken:
		return nil, fmt.Errorf("the token has %d bytes; %d to %d are allowed: 'openssl rand -hex "+
			"32' makes one", len(text), minToken, maxToken)
	case bytes.IndexFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0:
		return nil, errors.New("the token is not a single line of printable ASCII without spaces")
	}
	return text, nil
}

// callerOf returns what the bearer of a request's token has: no right if the token is not known.
// All tokens are compared, so that the time taken says nothing.
func (t *tokens) callerOf(r *http.Request) (c caller) {
	text := bearer(r)
	if text == "" {
		return c
	}
	sum := sha256.Sum256([]byte(text))
	for _, known := range t.current.Load().all {
		if subtle.ConstantTimeCompare(sum[:], known.sum[:]) == 1 {
			c.may |= known.may
			if c.limit == nil {
				c.limit = known.limit
			}
		}
	}
	return c
}

// bearer returns the token that a request shows: as a bearer, or as the password of HTTP Basic, so
// that a browser can show one.
func bearer(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return text
	}
	return ""
}

// Package client has IDs from servers of package server, with a stock in memory, so that most
// calls cost no request.
//
//	c, err := client.New([]string{"http://ids-1:8080", "http://ids-2:8080"}, client.Options{})
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	id, err := c.Next()
//
// IDs are unique whatever requests and replies are lost: a reply is used once, and one that is lost
// is lost. IDs that are older than Options.MaxAge are dropped, so that what Next returns follows
// the order of time as closely. A process that is copied while it runs, as from a snapshot of a
// virtual machine, has the same stock as its copy: both then issue the same IDs until it is used up
// or too old.
package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/core"
	"github.com/unalike-id/unalike/internal/drivers"
	"github.com/unalike-id/unalike/internal/tlsfiles"
)

const (
	// DefaultPrefetch is how many IDs a request asks for.
	DefaultPrefetch = 4096
	// DefaultMaxAge is how old an ID of the stock may become.
	DefaultMaxAge = time.Second
	// DefaultTimeout is how long Next waits.
	DefaultTimeout = 3 * time.Second

	// maxPrefetch is what a server can be told to allow at most.
	maxPrefetch = 1_000_000
	// requestTime bounds one request, so that another server has its turn.
	requestTime = 2 * time.Second
	// quickTime is how long a server may take for a request when it is to be asked for twice as many.
	quickTime = requestTime / 4
	// pingTime is how long nothing arrives on a connection of HTTP/2 until it is asked for a sign of
	// life, and how long that may take.
	pingTime = requestTime
	// restTime is how long a server that has failed is not asked while another one answers.
	restTime = 5 * time.Second
	// firstPause and mostPause are between two rounds of all servers, and refusedPause is the first
	// one after a refusal.
	firstPause, refusedPause, mostPause = 20 * time.Millisecond, 500 * time.Millisecond, time.Second
	// mostWait is for how long a server may have itself left alone.
	mostWait = 30 * time.Second
	// maxToken is how many bytes a token may have: as many as a server allows.
	maxToken = 4 << 10
	// firstPrefetch is what the first request asks for, and leastPrefetch what any does.
	firstPrefetch, leastPrefetch = 64, 4
)

// turns is which server clients ask first, in turn from a random one on: many that start at a time
// spread.
var turns atomic.Uint32

func init() { turns.Store(rand.Uint32()) }

// Errors of this package.
var (
	// ErrRefused says that all servers have refused a request for reasons that do not pass by
	// themselves, as with a token that they do not know, or a Prefetch that is more than they allow.
	ErrRefused = errors.New("client: refused")
	// ErrMixed says that two servers have different layouts or namespaces: their IDs could be equal.
	// It passes by itself if the namespace was lost and made again, or moved: once all servers have
	// said the same for half a minute.
	ErrMixed = errors.New("client: servers of different namespaces")
	// ErrUnavailable says that no server had IDs in time. It wraps the cause.
	ErrUnavailable = errors.New("client: no ID in time")
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("client: closed")
)

// Options change how a [Client] works. The zero Options works.
type Options struct {
	// Generator is the name of the generator. Empty: "default".
	Generator string
	// Token is sent as a bearer token. Empty: none.
	Token string
	// TokenFile is the path of a file with the token, in one line, in place of Token. Each request
	// reads it.
	TokenFile string
	// CA is the path of a file with the certificates, in PEM form, of the authorities that sign those
	// of the servers. Empty: the system's, which Go reads once. Cert and Key are the paths of a
	// certificate and its key, for servers that want one. Each connection reads the files; HTTP must
	// be nil.
	CA, Cert, Key string
	// Prefetch is how many IDs a request asks for at most, within what the server allows. It asks for
	// as many as were used in the last MaxAge and half as many again, and first for 64. While Prefetch
	// IDs are used up sooner than a request is answered it asks for twice as many, where the server
	// answers soon. 0: 4096.
	Prefetch int
	// MaxAge is how old an ID of the stock may become before it is dropped. 0: 1 s.
	MaxAge time.Duration
	// Timeout is how long Next waits. 0: 3 s, so that another server has its turn if one says nothing.
	Timeout time.Duration
	// HTTP makes the requests; its CheckRedirect is not used, as redirects are refused. Nil: a client
	// of its own.
	HTTP *http.Client
}

// Client has IDs from servers. It is safe for concurrent use. Make it with [New], and close it.
type Client struct {
	o       Options
	servers []*endpoint
	life    context.Context
	cut     context.CancelFunc
	running sync.WaitGroup
	own     *http.Client // nil: it is the caller's
	clock   clock.Clock  // on the wall

	piece atomic.Pointer[piece] // of the stock, in use; nil: none

	mu       sync.Mutex
	stock    *batch  // in use; nil: none
	reserve  *batch  // for when that is used up; nil: none
	short    bool    // a stock was used up before the next one came
	fetching bool    // IDs have been asked for
	working  bool    // there is a goroutine that asks
	last     *result // of the last fetch, which may be under way; nil: there was none
	closed   bool
	taken    int64     // how many IDs callers have had of stocks before
	mark     mark      // what they have had lately
	refusals int       // that came one after the other
	again    time.Time // before that nobody is asked, because all have refused

	// Only the fetch that is under way uses these.
	count  int       // how many IDs to ask for
	turn   int       // the server that is asked next
	rounds uint64    // of all servers
	space  string    // the layout and the nonce of what is in use; empty: nothing was
	doubt  time.Time // since when servers have said something else alone; zero: they have not
}

// New returns a client of servers, which are base URLs: http://host:port. All must serve the same
// namespace. It makes no request. Errors wrap [coord.ErrInvalid].
func New(urls []string, o Options) (*Client, error) {
	c := &Client{o: o, clock: clock.System()}
	if err := c.o.resolve(); err != nil {
		return nil, err
	}
	if c.o.HTTP == nil {
		c.own = &http.Client{Transport: o.transport()}
		c.o.HTTP = c.own
	}
	direct := *c.o.HTTP
	direct.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	c.o.HTTP = &direct
	if len(urls) == 0 {
		return nil, fmt.Errorf("%w: there is no URL; name at least one server", coord.ErrInvalid)
	}
	for i, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
			u.RawQuery != "" {
			return nil, fmt.Errorf("%w: URL number %d has the form http://host:port or https://host:port, "+
				"and no password: that goes into Token", coord.ErrInvalid, i+1)
		}
		c.servers = append(c.servers, &endpoint{
			url:  strings.TrimSuffix(u.String(), "/") + procedure,
			host: u.Host,
		})
	}
	c.turn = int(turns.Add(1) % uint32(len(c.servers))) //mutant:client-spread
	c.life, c.cut = context.WithCancel(context.Background())
	return c, nil
}

// resolve fills in defaults and checks the options.
func (o *Options) resolve() error {
	if o.Generator == "" {
		o.Generator = "default"
	}
	if o.Prefetch == 0 {
		o.Prefetch = DefaultPrefetch
	}
	if o.MaxAge == 0 {
		o.MaxAge = DefaultMaxAge
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Prefetch < 1 || o.Prefetch > maxPrefetch || o.MaxAge < 0 || o.Timeout < 0 {
		return fmt.Errorf("%w: Prefetch is %d, MaxAge %v, Timeout %v; none may be negative, and "+
			"Prefetch is at most %d", coord.ErrInvalid, o.Prefetch, o.MaxAge, o.Timeout, maxPrefetch)
	}
	if files := o.files(); files != nil {
		if o.HTTP != nil {
			return fmt.Errorf("%w: CA, Cert and Key are for a client without HTTP; leave HTTP out, or set "+
				"them in its transport", coord.ErrInvalid)
		}
		if err := files.Check(); err != nil {
			return fmt.Errorf("%w: CA, Cert, Key: %w", coord.ErrInvalid, err)
		}
	}
	if o.Token != "" && o.TokenFile != "" {
		return fmt.Errorf("%w: Token and TokenFile are both set; set one of them", coord.ErrInvalid)
	}
	if _, err := o.token(); err != nil {
		return fmt.Errorf("%w: TokenFile: %w", coord.ErrInvalid, err)
	}
	return nil
}

// files returns the files of TLS; nil: there are none.
func (o *Options) files() *tlsfiles.Files {
	if o.CA == "" && o.Cert == "" && o.Key == "" {
		return nil
	}
	return &tlsfiles.Files{CA: o.CA, Cert: o.Cert, Key: o.Key}
}

// transport returns the transport of a client of its own.
func (o *Options) transport() http.RoundTripper {
	return o.files().Transport(&http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingTime, PingTimeout: pingTime}, //mutant:client-pings
	})
}

// token returns the token of now; empty: there is none.
func (o *Options) token() (string, error) {
	if o.TokenFile == "" {
		return o.Token, nil
	}
	return drivers.ReadLine(o.TokenFile, maxToken)
}

// Next returns a new ID. If none is in memory it waits for Options.Timeout at most; the error is
// then [ErrUnavailable]. [ErrRefused] and [ErrMixed] come at once, and [ErrClosed] after Close.
func (c *Client) Next() (core.ID, error) {
	if id, ok := c.pop(); ok {
		return id, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.o.Timeout)
	defer cancel()
	return c.NextContext(ctx)
}

// NextContext is Next, and waits until ctx ends.
func (c *Client) NextContext(ctx context.Context) (core.ID, error) {
	for {
		id, ok := c.pop()
		if ok {
			return id, nil
		}
		if err := c.await(ctx); err != nil {
			return 0, err
		}
	}
}

// Fill fills dst with new IDs. It waits as NextContext does, and returns how many it wrote; with
// fewer than len(dst) comes the error.
func (c *Client) Fill(ctx context.Context, dst []core.ID) (int, error) {
	for i := range dst {
		id, err := c.NextContext(ctx)
		if err != nil {
			return i, err
		}
		dst[i] = id
	}
	return len(dst), nil
}

// All returns an endless sequence of new IDs, each with a nil error, that ends after the first
// error. It waits as NextContext does.
func (c *Client) All(ctx context.Context) iter.Seq2[core.ID, error] {
	return func(yield func(core.ID, error) bool) {
		for {
			id, err := c.NextContext(ctx)
			if !yield(id, err) || err != nil {
				return
			}
		}
	}
}

// Close ends requests that are under way and drops the stock. It returns when nothing runs any
// more.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	if c.reserve != nil {
		c.reserve.old.Stop()
	}
	c.use(nil)
	c.mu.Unlock()
	c.cut()
	c.running.Wait()
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}

// await waits until there may be IDs.
func (c *Client) await(ctx context.Context) error {
	c.mu.Lock()
	switch {
	case c.closed:
		c.mu.Unlock()
		return ErrClosed
	case c.stock != nil:
		c.mu.Unlock()
		return nil
	}
	c.fetch()
	r := c.last
	c.mu.Unlock()
	select {
	case <-r.ended:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return ErrClosed
	case c.stock != nil:
		return nil
	case errors.Is(r.err, ErrRefused), errors.Is(r.err, ErrMixed):
		return r.err
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(context.Cause(ctx), r.err))
	}
	return nil
}

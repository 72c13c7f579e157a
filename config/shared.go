package config

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/unalike-id/unalike/coord"
)

// kept is a coordinator with a state file, which all generators of this process share that are
// configured with the two of them: a file has one user at a time.
type kept struct {
	rawURL string
	like   coord.OpenOptions // without the clock and the logger
	opened chan struct{}     // closed when what follows is set
	coord.Coordinator
	err    error
	gaveUp bool // err is of the context of the generator that opened it, and of nobody else's
	users  int
}

// keptFiles are the coordinators with a state file that are open, by the file.
var keptFiles = struct {
	sync.Mutex
	byPath map[string]*kept
}{byPath: map[string]*kept{}}

// openShared opens the coordinator of a URL, or if it has a state file, returns the one that is
// open already. Call release in place of Close, once.
func openShared(ctx context.Context, rawURL string,
	o coord.OpenOptions,
) (c coord.Coordinator, release func() error, err error) {
	if o.State == "" {
		if c, err = coord.Open(ctx, rawURL, o); err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	}
	for { // while another generator opens it, and gives up because its own context has ended
		var again bool
		if c, release, again, err = joinKept(ctx, rawURL, o); !again {
			return c, release, err
		}
	}
}

// joinKept opens the coordinator or waits until it has been opened. It reports that it should be
// called again if who has opened it gave up.
func joinKept(ctx context.Context, rawURL string,
	o coord.OpenOptions,
) (c coord.Coordinator, release func() error, again bool, err error) {
	file, like := filepath.Clean(o.State), o
	like.Clock, like.Logger = nil, nil
	keptFiles.Lock()
	k := keptFiles.byPath[file]
	mine := k == nil
	switch {
	case mine:
		k = &kept{rawURL: rawURL, like: like, opened: make(chan struct{})}
		keptFiles.byPath[file] = k
	case k.rawURL != rawURL || k.like != like:
		keptFiles.Unlock()
		return nil, nil, false, invalid("state file %q is in use in this process by a generator with "+
			"another coordinator's URL or other lease times; give each coordinator and namespace a state "+
			"file of its own", file)
	}
	k.users++
	keptFiles.Unlock()
	release = func() error { return k.release(file) }
	if mine {
		if k.Coordinator, k.err = coord.Open(ctx, rawURL, o); k.err != nil {
			k.gaveUp = ctx.Err() != nil
			k.forget(file) // whoever comes next tries again
		}
		close(k.opened)
	}
	select {
	case <-k.opened:
		err, again = k.err, k.gaveUp && !mine
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = release() // there is nothing to close, or others have it
		return nil, nil, again, err
	}
	return k.Coordinator, release, false, nil
}

// release closes the coordinator after its last user.
func (k *kept) release(file string) error {
	keptFiles.Lock()
	k.users--
	last := k.users == 0 //mutant:shared-file
	if last && keptFiles.byPath[file] == k {
		delete(keptFiles.byPath, file)
	}
	keptFiles.Unlock()
	if !last {
		return nil
	}
	if k.Coordinator == nil {
		return nil // it could not be opened
	}
	return k.Close()
}

// forget leaves the file to whoever opens it next.
func (k *kept) forget(file string) {
	keptFiles.Lock()
	defer keptFiles.Unlock()
	if keptFiles.byPath[file] == k {
		delete(keptFiles.byPath, file)
	}
}

package file

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/filestore"
	"github.com/unalike-id/unalike/internal/tagcheck"
	"github.com/unalike-id/unalike/internal/tagstore"
	"github.com/unalike-id/unalike/segment"
)

func init() { driver.RegisterStore("file", open) }

// DefaultNamespace is the namespace of a store that is given none.
const DefaultNamespace = "default"

// Options are the settings of [New] beyond the path. The zero Options works.
type Options struct {
	// Namespace is what the file belongs to. Empty: "default".
	Namespace string
}

// Store keeps the numbers in a file. It is safe for concurrent use. It implements
// segment.Creator, segment.Advancer and segment.Pruner. Make it with [New], or with segment.Open.
type Store struct {
	tagstore.Store
	file   *filestore.Store
	path   string
	closed atomic.Bool
}

var (
	_ segment.Store    = (*Store)(nil)
	_ segment.Creator  = (*Store)(nil)
	_ segment.Advancer = (*Store)(nil)
	_ segment.Pruner   = (*Store)(nil)
)

// numbers is the content of a file.
type numbers struct {
	Tags map[string]tagstore.Record `json:"tags"`
	tagstore.Shared
}

// New returns a store in the file at path, whose directory must exist. It touches no file; the
// first tag makes one. Errors wrap [segment.ErrInvalidConfig].
func New(path string, o Options) (*Store, error) {
	o.Namespace = cmp.Or(o.Namespace, DefaultNamespace)
	path, err := filepath.Abs(path)
	leases, err1 := filestore.TimedLeases("unalike segments advance --all --store")
	err = errors.Join(err, err1, driver.CheckNamespace(o.Namespace))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", segment.ErrInvalidConfig, err)
	}
	s := &Store{path: path, file: filestore.New(filestore.Options{
		Path: path, Namespace: o.Namespace, Clock: clock.System(), Leases: leases, Mark: true,
	})}
	s.Store = tagstore.New(s.change, s.list, func(string) string { return "file " + path })
	return s, nil
}

// open makes a store from a URL.
func open(_ context.Context, u *driver.URL) (segment.Store, error) {
	err := u.OnlyOptions("namespace")
	if len(u.Hosts) > 0 || u.User != nil || u.Path == "" || u.Path[len(u.Path)-1] == '/' {
		err = cmp.Or(err, errors.New("write file:///var/lib/app/numbers, with three slashes before the "+
			"absolute path of a file, and without a user"))
	}
	path, err1 := u.Folder(runtime.GOOS)
	if err := cmp.Or(err, err1); err != nil {
		return nil, segment.InvalidURL(u, err)
	}
	s, err := New(path, Options{u.Option("namespace")})
	if err != nil {
		return nil, err // not a nil *Store in a Store that is not nil
	}
	return s, nil
}

// use has f read or change the numbers. After an error f may still run: who has called reads
// nothing that f writes.
func (s *Store) use(ctx context.Context, to filestore.Access, tag string,
	f func(n *numbers) error,
) error {
	if s.closed.Load() {
		return segment.ErrClosed
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := s.file.Numbers(ctx, to, func(b json.RawMessage) (json.RawMessage, error) {
		n := numbers{Tags: map[string]tagstore.Record{}}
		if len(b) > 0 {
			if err := json.Unmarshal(b, &n); err != nil {
				return nil, fmt.Errorf("%w: the numbers in file %s: %w", segment.ErrDamaged, s.path, err)
			}
		}
		if err := f(&n); errors.Is(err, errUnchanged) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		return json.Marshal(n)
	})
	if errors.Is(err, filestore.ErrOther) {
		return &segment.StoreChangedError{Tag: tag, Was: s.path, Here: err.Error()}
	}
	if errors.Is(err, coord.ErrInvalid) && !errors.Is(err, segment.ErrInvalidConfig) {
		err = fmt.Errorf("%w: %w", segment.ErrInvalidConfig, err)
	}
	return err
}

// change has f change a record.
func (s *Store) change(ctx context.Context, c tagstore.Call, f tagstore.Change,
) (segment.Range, error) {
	var r segment.Range
	err := s.use(ctx, filestore.Change, c.Tag, func(n *numbers) error {
		t, there := n.Tags[c.Tag]
		if !there && !c.Create {
			return tagstore.Unknown(c.Tag)
		}
		r.First = t.Next
		take, err := f(&t, there, n.Shared)
		r.Last = r.First + take - 1
		n.Tags[c.Tag] = t
		return err
	})
	if err != nil {
		return segment.Range{}, err
	}
	return r, nil
}

// list returns a tag, or all. All are shown to an operator although the file is refused.
func (s *Store) list(ctx context.Context, tag string) ([]segment.Tag, error) {
	var all []segment.Tag
	to := filestore.Change
	if tag == "" {
		to = filestore.Read
	}
	err := s.use(ctx, to, tag, func(n *numbers) error {
		for _, name := range slices.Sorted(maps.Keys(n.Tags)) {
			if r := n.Tags[name]; tag == "" || tag == name {
				all = append(all, r.Tag(name, "file "+s.path))
			}
		}
		return errUnchanged
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// errUnchanged says that the numbers stay as they are.
var errUnchanged = errors.New("unchanged")

// GiveBack implements [segment.Store].
func (s *Store) GiveBack(ctx context.Context, tag string, unused segment.Range) (bool, error) {
	if err := cmp.Or(segment.CheckTag(tag), tagcheck.Unused(unused)); err != nil {
		return false, err
	}
	var done bool
	err := s.use(ctx, filestore.Change, tag, func(n *numbers) error {
		r, there := n.Tags[tag]
		if done = there && r.Next == unused.Last+1; !done {
			return errUnchanged
		}
		r.Next = unused.First
		n.Tags[tag] = r
		return nil
	})
	if err != nil {
		return false, err
	}
	return done, nil
}

// AdvanceAll implements [segment.Advancer]. It accepts the file as the one of this machine.
func (s *Store) AdvanceAll(ctx context.Context, by int64) error {
	if err := tagstore.CheckNumber("number to add", by); err != nil {
		return err
	}
	return s.use(ctx, filestore.Adopt, "", func(n *numbers) error {
		for name, r := range n.Tags {
			r.Raise(by)
			n.Tags[name] = r
		}
		n.Add(by)
		return nil
	})
}

// Prune implements [segment.Pruner].
func (s *Store) Prune(ctx context.Context, tag string, before time.Time) (int, error) {
	var removed int
	err := s.use(ctx, filestore.Change, tag, func(n *numbers) error {
		if _, there := n.Tags[tag]; !there {
			return tagstore.Unknown(tag)
		}
		tags := len(n.Tags)
		maps.DeleteFunc(n.Tags, func(name string, _ tagstore.Record) bool {
			return tagcheck.IsPast(name, tag, before)
		})
		removed = tags - len(n.Tags)
		return n.Prune(tag, before)
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// Close implements [segment.Store].
func (s *Store) Close() error {
	s.closed.Store(true)
	s.file.Close()
	return nil
}

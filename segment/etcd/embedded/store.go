// Package embedded keeps the numbers of package segment in an etcd that runs inside the user's
// process, on a folder, so that a machine with nothing but Go has a store. It is the etcd of
// package coord/etcd/embedded, which says what it is for and what it is not; worker IDs and numbers
// can share a folder.
//
// As a URL for segment.Open, with this package imported for its side effect:
//
//	embed:///var/lib/orders/ids?namespace=orders
//
// The namespace is "default" if it is not given. The option failover is that of package
// segment/etcd.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	coordembedded "github.com/unalike-id/unalike/coord/etcd/embedded"
	"github.com/unalike-id/unalike/segment"
	"github.com/unalike-id/unalike/segment/etcd"
)

const scheme = "embed"

func init() { driver.RegisterStore(scheme, open) }

// Options are the settings of [New] beyond folder and namespace. The zero Options works.
type Options etcd.Options

// Store keeps the numbers in the etcd of a folder. It is safe for concurrent use. It implements
// segment.Creator.
type Store struct {
	*etcd.Store
	server coord.AdminCoordinator
}

// New returns a store in a namespace of the etcd in the folder dir. It makes the folder if need be,
// starts the server there unless another process runs it already, and returns when the server
// answers. Errors wrap [segment.ErrInvalidConfig] if the namespace or the folder is wrong.
func New(ctx context.Context, dir, namespace string, o Options) (*Store, error) {
	server, err := coordembedded.New(ctx, dir, namespace, coordembedded.Options{Logger: o.Logger})
	if err != nil {
		if errors.Is(err, coord.ErrInvalid) {
			err = fmt.Errorf("%w: %w", segment.ErrInvalidConfig, err)
		}
		return nil, err
	}
	client := server.(interface{ Client() *clientv3.Client }).Client()
	s, err := etcd.New(client, namespace, etcd.Options(o))
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &Store{s, server}, nil
}

// Close ends what the store has under way. If the server runs here it ends, and another process
// that uses the folder starts it again.
func (s *Store) Close() error { return errors.Join(s.Store.Close(), s.server.Close()) }

// open makes a store from a URL.
func open(ctx context.Context, u *driver.URL) (segment.Store, error) {
	dir, namespace, o, err := parse(u, runtime.GOOS)
	if err != nil {
		return nil, segment.InvalidURL(u, err)
	}
	s, err := New(ctx, dir, namespace, o)
	if err != nil {
		return nil, err // not a nil *Store in a Store that is not nil
	}
	return s, nil
}

// parse reads a URL on the system goos.
func parse(u *driver.URL, goos string) (dir, namespace string, o Options, err error) {
	if err := u.OnlyOptions("namespace", "durable", "failover"); err != nil {
		return "", "", o, err
	}
	if len(u.Hosts) > 0 || u.User != nil || u.Path == "" || u.Path == "/" {
		return "", "", o, fmt.Errorf("write %s:///folder with three slashes and the absolute path of a "+
			"folder, and without a user", scheme)
	}
	if _, o.Skip, err = segment.ParseSafety(u); err != nil {
		return "", "", o, err
	}
	o.Logger = u.Logger
	if namespace = u.Option("namespace"); namespace == "" {
		namespace = coordembedded.DefaultNamespace
	}
	dir, err = u.Folder(goos)
	return dir, namespace, o, err
}

package zk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
)

// explain adds what an error of the client leaves out, and that the call's time is up.
func (st *store) explain(ctx context.Context, err error) error {
	err = st.explained(err)
	over := ctx.Err()
	if err == nil || over == nil || errors.Is(err, over) || coord.Permanent(err) {
		return err
	}
	return fmt.Errorf("%w: %w", over, err)
}

func (st *store) explained(err error) error {
	switch {
	case err == nil, errors.Is(err, coord.ErrInvalid), errors.Is(err, coord.ErrClosed):
		return err
	case definite(err, client.ErrNoAuth, client.ErrInvalidACL):
		who := "without a user and a password"
		if st.opts.User != "" {
			who = fmt.Sprintf("as user %q, perhaps with a wrong password", st.opts.User)
		}
		where := "nodes under " + st.nodes.space
		if at, ok := errors.AsType[*accessError](err); ok {
			where = "node " + at.node
		}
		return fmt.Errorf("%w: ZooKeeper refuses access to %s %s; the user that made them may use them, see their ACL: %w", coord.ErrInvalid, where, who, err)
	case errors.Is(err, errForeign):
		return fmt.Errorf("%w: %w", coord.ErrInvalid, err)
	case strings.HasSuffix(err.Error(), quotaExceeded):
		return fmt.Errorf("a quota that an operator has set in ZooKeeper is used up (%w)", err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer from %v in time: %w", st.servers, err)
	}
	return err
}

// quotaExceeded is what the client says instead of an error that it does not know.
const quotaExceeded = "unknown error: -125"

// accessError says to which node access was refused.
type accessError struct {
	node string
	error
}

func (e *accessError) Unwrap() error { return e.error }

// refusedAt adds the node to an error that says that access was refused.
func refusedAt(node string, err error) error {
	if definite(err, client.ErrNoAuth, client.ErrInvalidACL) {
		return &accessError{node, err}
	}
	return err
}

// noChroot is the error if the chroot is not there.
func (st *store) noChroot() error {
	return fmt.Errorf("%w: the chroot %q does not exist in ZooKeeper; create that node first", coord.ErrInvalid, strings.TrimSuffix(st.nodes.root, rootName))
}

// errNoNamespace says that the namespace was not made yet.
var errNoNamespace = errors.New("there is no such namespace")

// errMissing says that a node is missing that is part of every namespace.
var errMissing = errors.New("the node is missing and there are others of the namespace")

// missing is the error of a folder that is part of every namespace.
func missing(path string, err error) error {
	if definite(err, client.ErrNoNode) {
		return damaged(path, errMissing)
	}
	return err
}

// transient reports whether an error may be gone with the next try.
func transient(err error) bool {
	for _, e := range []error{context.DeadlineExceeded, client.ErrConnectionClosed, client.ErrNoServer, client.ErrSessionMoved, client.ErrClosing} {
		if errors.Is(err, e) {
			return true
		}
	}
	_, broken := errors.AsType[net.Error](err) // a write on a connection that is gone
	return broken
}

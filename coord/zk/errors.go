package zk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	client "github.com/go-zookeeper/zk"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/invalid"
)

// explain adds to the error of a request what the client leaves out, what is known of the
// connection, and that the call's time is up.
func (s *session) explain(ctx context.Context, err error) error {
	s.mu.Lock()
	trouble := s.trouble
	s.mu.Unlock()
	switch err = s.refused(s.nodes.space+" or one below it,", err); {
	case err == nil, is(err, coord.ErrInvalid, coord.ErrClosed):
		return err
	case strings.HasSuffix(err.Error(), quotaExceeded):
		err = fmt.Errorf("a quota that an operator has set in ZooKeeper is used up (%w)", err)
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("no answer from %v in time: %w", s.servers, err)
	}
	if trouble != nil {
		err = fmt.Errorf("%w (%w)", err, trouble)
	}
	if over := ctx.Err(); over != nil && !errors.Is(err, over) {
		err = fmt.Errorf("%w: %w", over, err)
	}
	return err
}

// quotaExceeded is what the client says instead of an error that it does not know.
const quotaExceeded = "unknown error: -125"

// refused adds the node to an error that says that access was refused.
func (st *store) refused(node string, err error) error {
	if is(err, coord.ErrInvalid) || !is(err, client.ErrNoAuth, client.ErrInvalidACL) {
		return err
	}
	who := "without a user and a password"
	if st.opts.Login != nil {
		user, _, unread := st.opts.Login()
		who = fmt.Sprintf("as user %q, perhaps with a wrong password", user)
		if unread != nil {
			who = fmt.Sprintf("as the last user, and the next one is not known (%v)", unread)
		}
	}
	return invalid.Errorf("ZooKeeper refuses access to node %s %s; the user that made it may use it, "+
		"see its ACL: %w", node, who, err)
}

// noChroot is the error if the chroot is not there.
func (st *store) noChroot() error {
	return invalid.Errorf("the chroot %q does not exist in ZooKeeper; create that node first",
		strings.TrimSuffix(st.nodes.root, rootName))
}

// errNoNamespace says that the namespace was not made yet.
var errNoNamespace = errors.New("there is no such namespace")

// errMissing says that a node is missing that is part of every namespace.
var errMissing = errors.New("the node is missing and there are others of the namespace")

// transient reports whether an error may be gone with the next try: no server has answered.
//
//mutant:zk-transient
func transient(err error) bool { return !definite(err) && !is(err, coord.ErrInvalid) }

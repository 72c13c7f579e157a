package etcdclient

import (
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// denied says why a cluster refuses the user of a client that works with keys under a prefix, for
// which trying again cannot help; empty: err is another error.
func denied(err error, prefix string) string {
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return "the etcd user may not read and write keys under " + prefix + "; grant it a role that may"
	case errors.Is(err, rpctypes.ErrUserEmpty):
		return "the etcd cluster wants a user and a password"
	case errors.Is(err, rpctypes.ErrAuthFailed):
		return "the etcd cluster refuses the user name or the password"
	}
	return ""
}

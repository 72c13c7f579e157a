package etcdtest

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Protect makes s want users and passwords from now on. Each user has the given password: root,
// holder, who may read and write keys under prefix, and stranger, who may nothing.
func Protect(tb testing.TB, s *Server, prefix, password string) {
	tb.Helper()
	ctx, admin := tb.Context(), s.Client(tb)
	done := func(_ any, err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	done(admin.RoleAdd(ctx, "holders"))
	done(admin.RoleGrantPermission(ctx, "holders", prefix, clientv3.GetPrefixRangeEnd(prefix),
		clientv3.PermissionType(clientv3.PermReadWrite)))
	for _, user := range []string{"root", "holder", "stranger"} {
		done(admin.UserAdd(ctx, user, password))
	}
	done(admin.UserGrantRole(ctx, "root", "root"))
	done(admin.UserGrantRole(ctx, "holder", "holders"))
	done(admin.AuthEnable(ctx))
}

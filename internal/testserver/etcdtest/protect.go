package etcdtest

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Protect makes s want users and passwords from now on. Each user has the given password: root,
// holder, who may read and write keys under prefix, and stranger, who may nothing.
func Protect(tb testing.TB, s *Server, prefix, password string) {
	tb.Helper()
	ctx, admin := tb.Context(), s.Client(tb)
	steps := []func(context.Context) error{
		func(ctx context.Context) error { _, err := admin.RoleAdd(ctx, "holders"); return err },
		func(ctx context.Context) error {
			_, err := admin.RoleGrantPermission(ctx, "holders", prefix, clientv3.GetPrefixRangeEnd(prefix),
				clientv3.PermissionType(clientv3.PermReadWrite))
			return err
		},
	}
	for user, role := range map[string]string{"root": "root", "holder": "holders", "stranger": ""} {
		steps = append(steps, func(ctx context.Context) error {
			_, err := admin.UserAdd(ctx, user, password)
			return err
		})
		if role != "" {
			steps = append(steps, func(ctx context.Context) error {
				_, err := admin.UserGrantRole(ctx, user, role)
				return err
			})
		}
	}
	steps = append(steps, func(ctx context.Context) error {
		_, err := admin.AuthEnable(ctx)
		return err
	})
	for _, step := range steps {
		if err := step(ctx); err != nil {
			tb.Fatal(err)
		}
	}
}

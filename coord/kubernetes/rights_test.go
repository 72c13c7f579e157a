package kubernetes_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/kubernetes"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/protocol"
	"github.com/unalike-id/unalike/internal/testserver/streamtest"
)

// floorIn is a floor that is above all windows of a test.
func floorIn(d time.Duration) time.Time { return time.Now().Add(d).Truncate(time.Millisecond) }

// collections are the kinds of what is in deploy/kubernetes, in the order in which it is applied.
var collections = []struct{ file, group, kind string }{
	{"serviceaccount.yaml", "/api/v1", "serviceaccounts"},
	{"role.yaml", "/apis/rbac.authorization.k8s.io/v1", "roles"},
	{"rolebinding.yaml", "/apis/rbac.authorization.k8s.io/v1", "rolebindings"},
	{"configmap.yaml", "/api/v1", "configmaps"},
	{"deployment.yaml", "/apis/apps/v1", "deployments"},
}

// manifest is a file of deploy/kubernetes.
func manifest(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "deploy", "kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// apply applies all of deploy/kubernetes in the Kubernetes namespace of a test.
func apply(t *testing.T, c *cluster) {
	t.Helper()
	files, err := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if err != nil || len(files) != len(collections) {
		t.Fatalf("deploy/kubernetes has %q, %v; want the files of %v", files, err, collections)
	}
	for _, m := range collections {
		c.Apply(t, m.group+"/namespaces/"+c.in+"/"+m.kind, "application/yaml", manifest(t, m.file))
	}
}

// TestRights: the manifests are what the API server understands, the Role in them does for
// everything, and with one verb less the error says which.
func TestRights(t *testing.T) {
	c := newCluster(t)
	apply(t, c)
	account := "system:serviceaccount:" + c.in + ":orders"
	k := c.with(t, c.Client(t, account, nil), "orders", kubernetes.Options{})
	req := drivertest.Request(4)
	req.Identity = "one"
	// The API server hears of a new Role a moment later.
	streamtest.Eventually(t, "the Role counts", func() bool {
		g, err := k.Acquire(drivertest.Within(t), req)
		return err == nil && k.Release(drivertest.Within(t), g, g.NotBefore) == nil
	})
	if err := use(t, k); err != nil {
		t.Fatal(err)
	}
	role := string(manifest(t, "role.yaml"))
	for _, verb := range []string{"get", "list", "create", "patch"} {
		t.Run(verb, func(t *testing.T) {
			less := strings.Replace(strings.Replace(role, `"`+verb+`", `, "", 1), `, "`+verb+`"`, "", 1)
			if less == role {
				t.Fatalf("the Role has no verb %q: %s", verb, role)
			}
			put(t, c, less)
			defer put(t, c, role)
			want := fmt.Sprintf("the right is missing to %s leases of coordination.k8s.io", verb)
			streamtest.Eventually(t, "the Role counts", func() bool {
				err := use(t, k)
				return err != nil && strings.Contains(err.Error(), want) &&
					strings.Contains(err.Error(), `to the Role "unalike"`) && !errors.Is(err, coord.ErrInvalid)
			})
		})
	}
}

// made counts the worker IDs that use has retired.
var made atomic.Int64

// use makes use of every right, in a namespace that is in use already, and returns the first error.
func use(t *testing.T, k protocol.Full) error {
	t.Helper()
	g, err := k.Acquire(drivertest.Within(t), drivertest.Request(drivertest.Capacity))
	if err != nil {
		return err
	}
	g.Handle = nil // so that it is looked for
	if _, err = k.Renew(drivertest.Within(t), g, g.NotAfter+100); err != nil {
		return err
	}
	if _, err = k.Quarantine(drivertest.Within(t), floorIn(0)); err != nil {
		return err
	}
	// Each time another one, for which there is no slot yet.
	return k.Retire(drivertest.Within(t), int(made.Add(1))*40%drivertest.Capacity)
}

// put replaces the Role.
func put(t *testing.T, c *cluster, role string) {
	t.Helper()
	code, b := c.Do(http.MethodPut,
		"/apis/rbac.authorization.k8s.io/v1/namespaces/"+c.in+"/roles/unalike", "application/yaml",
		[]byte(role))
	if code != http.StatusOK {
		t.Fatalf("PUT of the Role: status %d: %s", code, b)
	}
}

package kubernetes

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
	"github.com/unalike-id/unalike/internal/drivertest"
	"github.com/unalike-id/unalike/internal/testserver/certtest"
)

// TestBadPod: what is wrong with the service account of a pod is said by its name, and what may be
// put right while the pod runs is no reason not to start.
func TestBadPod(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	u, err := driver.ParseURL("kubernetes://?namespace=orders")
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	env := func(name string) string {
		return map[string]string{"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}[name]
	}
	good := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	other, err := os.ReadFile(certtest.New(t).Path)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		files       map[string]string
		says, later string // when it is opened, and with the first call
	}{
		"no certificates":   {map[string]string{"token": "t"}, "the certificates of the cluster cannot be read", ""},
		"no certificate":    {map[string]string{"token": "t", "ca.crt": "junk"}, "ca.crt has no certificate", ""},
		"no name":           {map[string]string{"token": "t", "ca.crt": good, "namespace": "A b"}, `In is "A b"`, ""},
		"no token":          {map[string]string{"ca.crt": good}, "", "the token of the service account cannot be read"},
		"an empty token":    {map[string]string{"ca.crt": good, "token": " \n"}, "", "token is empty"},
		"a bad token":       {map[string]string{"ca.crt": good, "token": "a\x00b"}, "", "invalid header field value"},
		"no API server":     {map[string]string{"ca.crt": good, "token": "t"}, "", "it is not that of an API server which knows Leases"},
		"another authority": {map[string]string{"ca.crt": string(other), "token": "t"}, "", "certificate signed by unknown authority"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for file, text := range tc.files {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c, err := openURL(u, folder, env)
			if tc.says != "" {
				drivertest.WantInvalid(t, name, err, tc.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if _, err := c.Inspect(drivertest.Within(t)); err == nil || !strings.Contains(err.Error(), tc.later) || coord.Permanent(err) {
				t.Errorf("Inspect: %v; want an error that may pass and says %q", err, tc.later)
			}
		})
	}
}

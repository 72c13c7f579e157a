package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/testserver/fulltest"
	"github.com/unalike-id/unalike/internal/testserver/kubetest"
)

// collections are where objects of each kind are.
var collections = map[string]string{
	"ServiceAccount": "/api/v1", "ConfigMap": "/api/v1", "Service": "/api/v1", "Pod": "/api/v1",
	"Role":        "/apis/rbac.authorization.k8s.io/v1",
	"RoleBinding": "/apis/rbac.authorization.k8s.io/v1", "Deployment": "/apis/apps/v1",
	"PodDisruptionBudget": "/apis/policy/v1", "NetworkPolicy": "/apis/networking.k8s.io/v1",
}

// plurals are the kinds whose collection is not their name with an s.
var plurals = map[string]string{"NetworkPolicy": "networkpolicies"}

// cluster is an API server with a namespace in which pods are restricted.
type cluster struct {
	*kubetest.Server
	namespace string
}

// newCluster makes the namespace.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	fulltest.Long(t, "the API server of Kubernetes takes seconds to start")
	s := kubetest.Shared(t)
	c := &cluster{s, s.Namespace(t)}
	patch := `{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted",
		"pod-security.kubernetes.io/enforce-version": "latest"}}}`
	if code, b := s.Do(http.MethodPatch, "/api/v1/namespaces/"+c.namespace,
		"application/merge-patch+json", []byte(patch)); code != http.StatusOK {
		t.Fatalf("%d %s", code, b)
	}
	return c
}

// apply makes an object. Fields that the server does not know are refused.
func (c *cluster) apply(t *testing.T, o object) (code int, body string) {
	t.Helper()
	kind := o["kind"].(string)
	plural, ok := plurals[kind]
	if !ok {
		plural = strings.ToLower(kind) + "s"
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	code, b := c.Do(http.MethodPost, collections[kind]+"/namespaces/"+c.namespace+"/"+plural+
		"?fieldValidation=Strict", "application/json", text)
	return code, string(b)
}

// podOf returns the pod that a deployment makes.
func podOf(t *testing.T, deployment object) object {
	t.Helper()
	template := maps.Clone(deployment.at(t, "spec/template").(map[string]any))
	template["apiVersion"], template["kind"] = "v1", "Pod"
	metadata := maps.Clone(template["metadata"].(map[string]any))
	metadata["name"] = "one"
	template["metadata"] = metadata
	return template
}

// TestApply: the API server takes what the chart makes of each set of values, with its pods in a
// namespace that enforces restricted, and takes no field that it does not know.
func TestApply(t *testing.T) {
	t.Parallel()
	for name, values := range valueSets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			text, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			all := objectsOf(t, text)
			deployment := kind(t, all, "Deployment")
			for _, o := range append(all, podOf(t, deployment)) {
				if code, body := c.apply(t, o); code != http.StatusCreated {
					t.Errorf("%s: %d %s", o["kind"], code, body)
				}
			}
			pod := podOf(t, deployment)
			pod["metadata"].(map[string]any)["name"] = "loose"
			delete(pod.at(t, "spec").(map[string]any), "securityContext")
			if code, body := c.apply(t, pod); code != http.StatusForbidden ||
				!strings.Contains(body, "violates PodSecurity") {
				t.Errorf("a pod without its security context: %d %s", code, body)
			}
			deployment.at(t, "spec").(map[string]any)["replicsa"] = 3
			deployment.at(t, "metadata").(map[string]any)["name"] = "typo"
			if code, body := c.apply(t, deployment); code != http.StatusBadRequest ||
				!strings.Contains(body, `unknown field \"spec.replicsa\"`) {
				t.Errorf("a typo: %d %s", code, body)
			}
		})
	}
}

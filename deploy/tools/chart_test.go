package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

// manifests is what the chart gives without any values, for those who have no Helm.
const manifests = "../kubernetes/serve/unalike.yaml"

// head stands above it.
const head = "# unalike serve in Kubernetes: kubectl apply -f unalike.yaml. " +
	"It is what the chart in deploy/helm" + `
# makes without any values: go test -C deploy/tools -run TestManifests -update .
`

// valueSets are those with which the chart is tried.
var valueSets = map[string]string{
	"plain": ``,
	"generators": `config: {generators: {orders: {coordinator: "etcd://e1:2379,e2:2379/orders", ` +
		`stripes: 2}, users: {coordinator: "etcd://e1:2379/users"}}, max_count: 100000, ready: any}`,
	"no rights": `{rbac: false, replicas: 5, drain: 20s, config: {coordinator: ` +
		`"postgres://ids:${PASSWORD}@db/ids?namespace=ids"}, envSecret: ids-database, image: {digest: ` +
		`"sha256:0000000000000000000000000000000000000000000000000000000000000000"}}`,
	"secrets": `{secret: ids-files, config: {tls: {cert: /etc/unalike/secret/tls.crt, key: ` +
		`/etc/unalike/secret/tls.key}, tokens: [{file: /etc/unalike/secret/token, may: [generate], ` +
		`ids_per_second: 1000}], hosts: [ids.example.com], access_log: errors, leaf: {may: generate}, ` +
		`layout: twitter}, service: {type: LoadBalancer, port: 443, annotations: {a: b}}}`,
	"placed": `{nodeSelector: {disk: ssd}, tolerations: [{key: a, operator: Exists}], affinity: ` +
		`{nodeAffinity: {}}, priorityClassName: system-cluster-critical, podAnnotations: {c: "d"}, ` +
		`networkPolicy: {from: [{podSelector: {}}], metricsFrom: [{namespaceSelector: {matchLabels: ` +
		`{name: monitoring}}}]}, resources: {}}`,
}

// typos are refused by the schema of the values.
var typos = []string{
	`replica: 3`, `replicas: many`, `image: {tagg: v1}`, `image: {digest: abc}`, `drain: 1m`,
	`drain: 60s`, `logLevel: loud`, `config: {cordinator: "etcd://e"}`,
	`config: {tls: {crt: a, key: b}}`, `config: {tokens: [{file: a, may: [all]}]}`,
	`config: {ready: some}`, `config: {listen: ":1"}`, `service: {port: 0}`,
	`networkPolicy: {form: []}`,
}

// theChart reads the chart.
func theChart(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load("../helm/unalike")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render returns what the chart makes of values, in the order of the files, and the error of the
// schema.
func render(t *testing.T, values string) (string, error) {
	t.Helper()
	given, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	c := theChart(t)
	all, err := chartutil.ToRenderValues(c, given,
		chartutil.ReleaseOptions{Name: "unalike", Namespace: "default", IsInstall: true}, nil)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if text := strings.TrimSpace(files[name]); text != "" && strings.HasSuffix(name, ".yaml") {
			parts = append(parts, text+"\n")
		}
	}
	return strings.Join(parts, "---\n"), nil
}

// object is one of Kubernetes.
type object map[string]any

// objectsOf reads a file with several.
func objectsOf(t *testing.T, text string) (all []object) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(text)); ; {
		var o map[string]any
		if err := d.Decode(&o); err != nil {
			if len(all) == 0 || !strings.Contains(err.Error(), "EOF") {
				t.Fatalf("%d objects, %v in\n%s", len(all), err, text)
			}
			return all
		}
		all = append(all, o)
	}
}

// at returns what is at a path of keys, and of numbers in lists.
func (o object) at(t *testing.T, path string) any {
	t.Helper()
	var v any = map[string]any(o)
	for key := range strings.SplitSeq(path, "/") {
		switch in := v.(type) {
		case object:
			v = in[key]
		case map[string]any:
			v = in[key]
		case []any:
			v = in[0]
		default:
			t.Fatalf("%s: there is no %s", path, key)
		}
	}
	return v
}

// kind returns the one object of a kind.
func kind(t *testing.T, all []object, kind string) object {
	t.Helper()
	i := slices.IndexFunc(all, func(o object) bool { return o["kind"] == kind })
	if i < 0 {
		t.Fatalf("there is no %s", kind)
	}
	return all[i]
}

// TestManifests: the file for those who have no Helm is what the chart makes.
func TestManifests(t *testing.T) {
	text, err := render(t, "")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		put(t, "", manifests, head+text)
	}
	if got := read(t, manifests); got != head+text {
		t.Errorf("%s is not what the chart makes; go test -C deploy/tools -run TestManifests -update "+
			". writes it", manifests)
	}
}

// TestChart: the program accepts the file that the chart makes of each set of values.
func TestChart(t *testing.T) {
	t.Parallel()
	for name, values := range valueSets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := render(t, values)
			if err != nil {
				t.Fatal(err)
			}
			file := kind(t, objectsOf(t, text), "ConfigMap").at(t, "data/serve.yaml").(string)
			folder := t.TempDir()
			file = strings.ReplaceAll(file, "/var/lib/unalike", folder)
			if strings.Contains(file, "/etc/unalike/secret") {
				makeSecrets(t, folder)
				file = strings.ReplaceAll(file, "/etc/unalike/secret", folder)
			}
			accept(t, command(t), "serve", "--check", "--config", put(t, folder, "serve.yaml", file))
		})
	}
}

// TestTypos: the schema of the values refuses what the chart does not know, and knows the keys that
// the program knows.
func TestTypos(t *testing.T) {
	t.Parallel()
	for _, typo := range typos {
		if _, err := render(t, typo); err == nil {
			t.Errorf("%s is accepted", typo)
		}
	}
	path := put(t, t.TempDir(), "serve.yaml", "typo: 1\n")
	out, err := exec.CommandContext(t.Context(), command(t), "serve", "--check", "--config",
		path).CombinedOutput()
	m := regexp.MustCompile(`[Kk]nown are (.*)`).FindStringSubmatch(string(out))
	if err == nil || m == nil {
		t.Fatalf("%v: %s", err, out)
	}
	var schema struct {
		Properties struct {
			Config struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "../helm/unalike/values.schema.json")),
		&schema); err != nil {
		t.Fatal(err)
	}
	known := slices.DeleteFunc(strings.Split(m[1], ", "), func(key string) bool {
		return strings.HasSuffix(key, "listen")
	})
	slices.Sort(known)
	if got := slices.Sorted(maps.Keys(schema.Properties.Config.Properties)); fmt.Sprint(
		got) != fmt.Sprint(known) {
		t.Errorf("the schema knows %v; the program %v", got, known)
	}
}

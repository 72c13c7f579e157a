package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// TestServeCheck: the file, tokens and certificates are read and judged, and nothing is started or
// made.
func TestServeCheck(t *testing.T) {
	token, data := writeFile(t, "token", "token-of-the-test"), filepath.Join(t.TempDir(), "data")
	const right = "the settings are right\n"
	for _, tt := range [][2]string{
		{"listen: 127.0.0.1:0", right},
		{
			"coordinator: etcd://127.0.0.1:1/x\ntokens: [{file: " + token +
				", may: [generate]}]\nmax_count: 100000",
			right,
		},
		{"max_count: 0.5", "max_count"},
		{"tokens: [{file: " + token + "x, may: [generate]}]", "it cannot be read"},
		{"tls: {cert: " + token + ", key: " + token + "}", "tls: certificate"},
		{"leaf: {may: anyone}\ncoordinator: 'static://?worker=7'", "give it the layout twitter"},
		{"coordinator: 'nothing://x'", "nothing"},
		{
			"generators: {a: {coordinator: 'nothing://x'}}",
			`generator a: coordinator: unalike: invalid URL: unknown scheme "nothing"`,
		},
		{
			"coordinator: 'etcd://127.0.0.1:1/x?ttl=1s'",
			"TTL is 1s; this coordinator needs at least 2s",
		},
		{"coordinator: 'etcd://127.0.0.1:1/x'\nhorizon: 6h", "Horizon is 6h0m0s; at most 2m0s"},
		{
			"coordinator: 'etcd://127.0.0.1:1/x'\nhorizon: 6h\nstate: " +
				filepath.Join(t.TempDir(), "state"),
			right,
		},
		{"coordinator: 'redis://127.0.0.1:1?namespace=x&wrong=1'", `unknown option "wrong"`},
		{"coordinator: 'kubernetes://?namespace=x'", right}, // on any machine
		{"coordinator: 'kubernetes://?namespace=x&ttl=1s'", "TTL is 1s; this coordinator needs at least"},
		{"store: 'embed://" + data + "?wrong=1'", `unknown option "wrong"`},
		{"store: 'embed://" + data + "'\ncoordinator: 'embed://" + data + "'", right},
	} {
		text, want, code := tt[0], tt[1], exitFailure
		if want == right {
			code = exitOK
		}
		file := writeFile(t, "serve.yaml", text)
		checkLines(t, dataIn(data), []line{{"serve --check --config " + file, code, want}})
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("a folder was made")
	}
}

func TestRoomFor(t *testing.T) {
	for _, tt := range [][3]int{
		{1000, 0, 1000},
		{1000, 1024, 992},
		{1000, 64, 32},
		{5, 64, 5},
	} {
		if got := roomFor(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%d connections, %d descriptors: %d, want %d", tt[0], tt[1], got, tt[2])
		}
	}
}

// TestMemoryMax: the least bound of the groups that the process is in counts, in both versions of
// control groups.
func TestMemoryMax(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no bound": {map[string]string{
			"proc/self/cgroup":         "0::/\n",
			"sys/fs/cgroup/memory.max": "max\n",
		}, 0},
		"container": {
			map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "268435456\n"},
			256 << 20,
		},
		"of a service and its slice": {map[string]string{
			"proc/self/cgroup":                                      "0::/system.slice/unalike.service\n",
			"sys/fs/cgroup/system.slice/memory.max":                 "1000\n",
			"sys/fs/cgroup/system.slice/unalike.service/memory.max": "max\n",
		}, 1000},
		"version 1": {map[string]string{"sys/fs/cgroup/memory/memory.limit_in_bytes": "1000\n"}, 1000},
	} {
		root := fstest.MapFS{}
		for path, text := range tt.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryMax(root); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

package main

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// TestEmptyFlags: a flag that is empty is most likely a shell variable that is not set, and is
// taken for no default.
func TestEmptyFlags(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a service would go on
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"serve", "--listen", ""}, "unalike: --listen is empty; name an address, or leave the flag out\n"},
		{[]string{"serve", "--store", ""}, "unalike: --store is empty; name a URL, or leave the flag out\n"},
		{[]string{"serve", "--config", ""}, "unalike: --config is empty; name a file, or leave the flag out\n"},
		{[]string{"generate", "--segment", ""}, "unalike: --segment is empty; name a tag, or leave the flag out\n"},
	} {
		args := slices.Concat(tt.args, []string{"--coordinator", noState(t, "7")})
		got := callIn(ctx, waits{answer: callTime, quiet: callTime}, nil, "", args...)
		if got.code != exitUsage || got.out != "" || !strings.HasPrefix(got.stderr, tt.want) {
			t.Errorf("%q: %+v\nwant %s", args, got, tt.want)
		}
	}
}

// TestServeNamesVariables: a variable that nothing looks at is named.
func TestServeNamesVariables(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	env := map[string]string{envStore: "etcd://localhost/segments"}
	got := callIn(ctx, waits{answer: callTime, quiet: callTime}, env, "",
		"serve", "--drain", "0s", "--listen", "127.0.0.1:0", "--coordinator", noState(t, "7"))
	wantCall(t, got, got.code, "", "unalike: UNALIKE_STORE is set and not used by serve; name it in the file\n")
}

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
		var out, errs strings.Builder
		args := slices.Concat(tt.args, []string{"--coordinator", noState(t, "7")})
		code := run(ctx, args, streams{in: strings.NewReader(""), out: &out, err: &errs}, func(string) (string, bool) { return "", false })
		if code != exitUsage || out.Len() > 0 || !strings.HasPrefix(errs.String(), tt.want) {
			t.Errorf("%q: exit code %d, %s%s\nwant %s", args, code, &out, &errs, tt.want)
		}
	}
}

// TestServeNamesVariables: a variable that nothing looks at is named.
func TestServeNamesVariables(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs strings.Builder
	lookup := func(name string) (string, bool) {
		if name == envStore {
			return "etcd://localhost/segments", true
		}
		return "", false
	}
	run(ctx, []string{"serve", "--drain", "0s", "--listen", "127.0.0.1:0", "--coordinator", noState(t, "7")}, streams{in: strings.NewReader(""), out: &out, err: &errs}, lookup)
	for _, want := range []string{
		"unalike: UNALIKE_STORE is set and not used by serve; name the store with --store or in the file\n",
	} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("said was\n%s\nwhich lacks %s", &errs, want)
		}
	}
}

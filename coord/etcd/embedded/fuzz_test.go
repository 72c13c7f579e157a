package embedded

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/coord/driver"
)

// FuzzDecode: what is read of the files of a folder is written again, byte for byte, or is of
// another version.
func FuzzDecode(f *testing.F) {
	for _, v := range []any{
		mark{Version: 1, Folder: "FOLDER", Served: true},
		post{Version: 1, Folder: "FOLDER", Address: "127.0.0.1:2379", PID: 7},
	} {
		b, err := encode(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	for _, s := range []string{
		"", "{", "{}\n", "null\n", `{"version":2,"anew":1}` + "\n",
		`{"version":1,"folder":"F"}` + "\n", `{"version":1,"folder":"F","served":true}`,
		`{"version":1,"Folder":"F","served":true}` + "\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m mark
		if err := decode(b, &m); err == nil && m.Version == formatVersion {
			writtenAgain(t, b, m)
		}
		var p post
		if err := decode(b, &p); err == nil && p.Version == formatVersion {
			writtenAgain(t, b, p)
		}
	})
}

func writtenAgain(t *testing.T, b []byte, v any) {
	t.Helper()
	if again, err := encode(v); err != nil || !bytes.Equal(again, b) {
		t.Errorf("%q is read as %+v, which is written %q, %v", b, v, again, err)
	}
}

// FuzzURL: a URL is refused as invalid, or names a folder, on every system.
func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"embed:///var/lib/ids", "embed:///C:/ids?namespace=orders&ttl=20s",
		"embed://folder", "embed:///", "embed:///C:", "embed://u@/x", "embed:///x?namespace=",
		"embed:///a%2Fb",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := driver.ParseURL(s)
		if err != nil {
			return
		}
		for _, goos := range []string{"linux", "windows"} {
			got, err := parse(u, goos)
			if err != nil {
				if goos == runtime.GOOS {
					if c, err := open(t.Context(), u); !errors.Is(err, coord.ErrInvalid) || c != nil {
						t.Errorf("%q: %v, %v", s, c, err)
					}
				}
				continue
			}
			if got.dir == "" || got.dir == "/" || driver.CheckNamespace(got.namespace) != nil ||
				got.options.Lease.TTL < 0 {
				t.Errorf("%q on %s is read as %+v", s, goos, got)
			}
		}
	})
}

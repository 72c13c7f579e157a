package coord

import (
	"context"
	"errors"
	"testing"

	"github.com/unalike-id/unalike/internal/drivers"
)

// stub is a coordinator that remembers the URL which it was made from.
type stub struct {
	Coordinator
	url string
}

// register makes a scheme known.
func register(scheme string, open func(context.Context, string, OpenOptions) (Coordinator, error)) {
	drivers.Coordinators.Register(scheme, open)
}

func TestOpen(t *testing.T) {
	_, err := Open(t.Context(), "static://?worker=7", OpenOptions{})
	wantInvalid(t, "a scheme without any driver", err,
		`unalike: invalid URL: unknown scheme "static"; `+
			`no driver is known; a driver is made known by importing its package, here `+
			`github.com/unalike-id/unalike/coord/static`)
	refusal := errors.New("no such server")
	register("good", func(_ context.Context, u string, _ OpenOptions) (Coordinator, error) {
		return &stub{url: u}, nil
	})
	register("bad", func(context.Context, string, OpenOptions) (Coordinator, error) {
		return nil, refusal
	})
	register("both", func(context.Context, string, OpenOptions) (Coordinator, error) {
		return &stub{}, nil
	})
	register("both", func(context.Context, string, OpenOptions) (Coordinator, error) {
		return &stub{}, nil
	})

	c, err := Open(t.Context(), "GOOD://h?a=1", OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := c.(*stub); !ok || s.url != "GOOD://h?a=1" {
		t.Errorf("opened was %+v", c)
	}
	if _, err := Open(t.Context(), "bad://h", OpenOptions{}); !errors.Is(err, refusal) {
		t.Errorf("a driver's refusal: %v", err)
	}
	for _, tt := range []struct{ url, want string }{
		{
			"etcd3://u:geheim@h",
			`unalike: invalid URL: unknown scheme "etcd3"; known are bad, both, good; ` +
				`a driver is made known by importing its package`,
		},
		{
			"both://h",
			`unalike: invalid URL: scheme "both" is registered by 2 drivers; import one of them`,
		},
		{"good", `unalike: invalid URL: it has the form scheme://hosts/path?options, for example ` +
			`static://?worker=7`},
	} {
		_, err := Open(t.Context(), tt.url, OpenOptions{})
		wantInvalid(t, tt.url, err, tt.want)
	}
}

package kubernetes

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/unalike-id/unalike/clock"
	"github.com/unalike-id/unalike/clock/clocktest"
	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/drivertest"
)

func TestMistypedNamespace(t *testing.T) {
	f := newFakeAPI()
	f.clock = clocktest.NewShifted(time.Now())
	drivertest.MistypedNamespace(t, func(ns string, log *slog.Logger) coord.Coordinator {
		o := Options{In: "shop", Clock: clock.System(), Logger: log}
		c, err := New(&http.Client{Transport: f}, "http://h", ns, o)
		return drivertest.Closing(t, c, err)
	})
}

package coordtest

import (
	"testing"

	"github.com/unalike-id/unalike/coord"
)

// fakeHarness is the harness of a fake.
func fakeHarness(f *Fake) Harness {
	return Harness{
		Client: func(testing.TB, coord.Range) coord.Coordinator { return f.Client() },
		OtherNamespace: func(testing.TB, coord.Range) coord.Coordinator {
			return NewFake(FakeConfig{}).Client()
		},
		Expire:     func(_ testing.TB, g coord.Grant) { f.Expire(g.WorkerID) },
		RaiseFloor: func(_ testing.TB, tick int64) { f.RaiseFloor(tick) },
		Sticky:     true,
	}
}

func TestFakeConforms(t *testing.T) {
	Run(t, func(testing.TB) Harness { return fakeHarness(NewFake(FakeConfig{})) })
}

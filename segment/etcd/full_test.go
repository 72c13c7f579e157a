package etcd

import (
	"errors"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/unalike-id/unalike/internal/testserver/etcdtest"
	"github.com/unalike-id/unalike/segment"
)

// TestNoSpace: a database that has reached its quota is named in the error, with what to do.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	s, err := segment.Open(within(t), "etcd://"+server.Endpoint+"/ns", segment.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.(segment.Creator).Create(within(t), segment.Tag{Name: "a", Next: 1, Step: 10}); err != nil {
		t.Fatal(err)
	}
	alarm := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE}
	if _, err := pb.NewMaintenanceClient(server.Client(t).ActiveConnection()).Alarm(t.Context(), alarm); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Take(within(t), "a", 10); err == nil || errors.Is(err, segment.ErrInvalidConfig) || !strings.Contains(err.Error(), "the database of the etcd cluster has reached its quota, and takes no writes: compact it (etcdctl compact), ") {
		t.Errorf("Take: %v, %v; want an error that says what to do", r, err)
	}
}

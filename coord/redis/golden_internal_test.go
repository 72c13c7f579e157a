package redis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/unalike-id/unalike/internal/goldentest"
	"github.com/unalike-id/unalike/internal/protocol"
)

// TestGolden: the hash of version 0.1.0 is read, and its fields are written as they were. Those
// that the script writes by itself (origin, n) are the server's.
func TestGolden(t *testing.T) {
	t.Parallel()
	slot := goldentest.Slot()
	metaValue, err := valueOf(protocol.Entry[protocol.Meta]{Version: 4}, goldentest.Meta())
	slotValue, slotErr := valueOf(protocol.Entry[protocol.Slot]{Version: 11}, slot)
	if err != nil || slotErr != nil {
		t.Fatal(err, slotErr)
	}
	const now, ends int64 = 1767323055000000, 1767323115000000
	leases := strings.Repeat("0", slot.Worker*digits) + strconv.FormatInt(ends, 10)
	leases += strings.Repeat("0", (pageSize-1-slot.Worker)*digits)
	var b strings.Builder
	fmt.Fprintln(&b, keyOf("ids"))
	for _, kv := range [][2]string{
		{fieldMeta, metaValue},
		{strconv.Itoa(slot.Worker), slotValue},
		{page(slot.Worker), leases},
		{tokenPrefix + slot.Token, strconv.Itoa(slot.Worker)},
		{identityPrefix + slot.Identity, strconv.Itoa(slot.Worker)},
	} {
		fmt.Fprintf(&b, "%s\t%s\n", kv[0], kv[1])
	}
	_, fields, _ := strings.Cut(goldentest.Same(t, "hash.txt", b.String()), "\n")
	s, a := &store{}, &answer{now: now, owned: 1, values: map[string]string{}}
	for line := range strings.Lines(fields) {
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		a.values[field] = value
	}
	a.fields = int64(len(a.values))
	v, err := s.view(a, 7)
	if err != nil || v.Meta.Record != goldentest.Meta() || v.Meta.Version != 5 ||
		v.Slot.Record != slot || v.Slot.Version != 12 || !v.Owned {
		t.Errorf("it is read as %+v, %v", v, err)
	}
	if got := a.ends(7); got != ends {
		t.Errorf("the lease ends at %d; want %d", got, ends)
	}
}

package static

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/unalike-id/unalike/internal/invalid"
)

// source tells the first worker ID. What it can, it finds out when it is made;
// the low bits of an address have to wait for the layout.
type source struct {
	first   int64
	ip      bool
	machine machine
}

// machine is where worker IDs are read from. It is a value so that tests can
// have their own.
type machine struct {
	hostname  func() (string, error)
	lookupEnv func(name string) (string, bool)
	// addresses lists those of the network interfaces that are up.
	addresses func() ([]netip.Addr, error)
}

func thisMachine() machine {
	return machine{hostname: os.Hostname, lookupEnv: os.LookupEnv, addresses: interfaceAddresses}
}

const (
	workerForms = "a decimal number, env:NAME, hostname, or ip"
	ordinalForm = "it must end in a minus sign and a number, as StatefulSets name their pods"
)

// parseWorker reads the worker option of a URL for a replica that has count worker IDs.
func parseWorker(s string, count int, m machine) (src source, err error) {
	name, env := strings.CutPrefix(s, "env:")
	switch {
	case s == "":
		err = fmt.Errorf("option worker is missing; it is %s", workerForms)
	case s == "ip":
		src = source{ip: true, machine: m}
	case s == "hostname":
		src.first, err = m.ordinal()
		src.first *= int64(count) // at most 2^62
	case env:
		src.first, err = m.environment(name)
	default:
		if src.first, err = parseNumber(s); err != nil {
			err = fmt.Errorf("option worker is %q; it is %s: %w", s, workerForms, err)
		}
	}
	return src, err
}

func (m machine) environment(name string) (int64, error) {
	if name == "" {
		return 0, errors.New(`option worker is "env:"; the name of an environment variable must follow`)
	}
	v, ok := m.lookupEnv(name)
	if !ok {
		return 0, fmt.Errorf("option worker is \"env:%s\" and the environment variable %[1]s is not "+
			"set; set it to a decimal number", name)
	}
	n, err := parseNumber(v)
	if err != nil {
		err = fmt.Errorf("option worker is \"env:%s\" and the environment variable %[1]s is %q; set it "+
			"to a decimal number: %w", name, v, err)
	}
	return n, err
}

// ordinal reads the number that a StatefulSet gives its pods, web-3 for example. A domain that
// follows the name is ignored.
func (m machine) ordinal() (int64, error) {
	full, err := m.hostname()
	if err != nil {
		return 0, fmt.Errorf("option worker is hostname and the host's name cannot be read: %w", err)
	}
	name, _, _ := strings.Cut(full, ".")
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return 0, fmt.Errorf("option worker is hostname and the host's name is %q; %s", full, ordinalForm)
	}
	n, err := parseNumber(name[i+1:])
	if err != nil {
		err = fmt.Errorf("option worker is hostname and the host's name is %q; %s: %w", full, ordinalForm,
			err)
	}
	return n, err
}

// parseNumber reads digits and nothing else: no sign, no space, no zero in front.
// What other forms mean, 007 for example, is not agreed on everywhere.
func parseNumber(s string) (int64, error) {
	if s == "" {
		return 0, errors.New("there are no digits")
	}
	for _, r := range s {
		if r < '0' || r > '9' {
			return 0, fmt.Errorf("%q is not a decimal digit", r)
		}
	}
	if s[0] == '0' && s != "0" {
		return 0, errors.New("a leading zero is not allowed")
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("the largest possible worker ID is %d", math.MaxInt32)
	}
	return n, nil
}

// check tells whether the source suits count worker IDs, as far as it is known
// without a layout.
func (s source) check(count int) error {
	switch {
	case s.ip && count != 1:
		return invalid.Errorf("count is %d; an address gives one worker ID only, so it must be 1 "+
			"with worker=ip", count)
	case s.first < 0:
		return invalid.Errorf("worker is %d; a worker ID is 0 or more", s.first)
	case s.first > math.MaxInt32-int64(count)+1:
		return invalid.Errorf("worker is %d and count is %d; the largest possible worker ID is %d",
			s.first, count, math.MaxInt32)
	}
	return nil
}

// resolve returns the first worker ID for a layout of capacity worker IDs.
func (s source) resolve(capacity int) (int64, error) {
	if s.ip {
		return s.machine.lowBits(capacity)
	}
	return s.first, nil
}

// lowBits returns the low bits of the one private IPv4 address. Within a subnet
// that is no larger than the layout's capacity they differ from host to host.
func (m machine) lowBits(capacity int) (int64, error) {
	all, err := m.addresses()
	if err != nil {
		return 0, fmt.Errorf("worker is ip and the network interfaces cannot be listed: %w", err)
	}
	var private []string
	var found netip.Addr
	for _, a := range all {
		if a = a.Unmap(); a.Is4() && a.IsPrivate() && !slices.Contains(private, a.String()) {
			found, private = a, append(private, a.String())
		}
	}
	switch len(private) {
	case 1:
		b := found.As4()
		return int64(binary.BigEndian.Uint32(b[:])) & int64(capacity-1), nil
	case 0:
		return 0,
			invalid.Errorf("worker is ip and this machine has no private IPv4 address; set worker " +
				"to a number")
	}
	return 0, invalid.Errorf("worker is ip and this machine has %d private IPv4 addresses, %s; set "+
		"worker to a number", len(private), strings.Join(private, ", "))
}

func interfaceAddresses() ([]netip.Addr, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return nil, err
	}
	var out []netip.Addr
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addrs, err := i.Addrs()
		if err != nil {
			return nil, err
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil {
				out = append(out, p.Addr())
			}
		}
	}
	return out, nil
}

package stage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Select returns the jobs that names ask for, in the order of the scenarios: names or numbers of scenarios, none
// for all; on one back end, or on each that a scenario runs on if that is empty; in the short set only those that
// are part of it, unless they are named. Its errors say what there is.
func Select(all []Scenario, names []string, backendName string, short bool) ([]Job, error) {
	var known []string
	for _, sc := range all {
		for _, b := range sc.Backends {
			if !slices.Contains(known, b) {
				known = append(known, b)
			}
		}
	}
	slices.Sort(known)
	if backendName != "" && !slices.Contains(known, backendName) {
		return nil, fmt.Errorf("no scenario runs on the back end %q; there are %s", backendName, strings.Join(known, ", "))
	}
	for _, n := range names {
		if i := slices.IndexFunc(all, func(sc Scenario) bool { return sc.is(n) }); i < 0 {
			return nil, unknown(all, n)
		} else if backendName != "" && !slices.Contains(all[i].Backends, backendName) {
			return nil, fmt.Errorf("scenario %s runs on %s, not on %s", all[i].Name, strings.Join(all[i].Backends, ", "), backendName)
		}
	}
	var jobs []Job
	for _, sc := range all {
		on := sc.backends(short && len(names) == 0)
		if len(names) > 0 && !slices.ContainsFunc(names, sc.is) {
			on = nil
		}
		for _, b := range on {
			if backendName == "" || b == backendName {
				jobs = append(jobs, Job{sc, b})
			}
		}
	}
	return jobs, nil
}

// is reports whether name is the scenario's name or number.
func (sc Scenario) is(name string) bool { return name == sc.Name || name == strconv.Itoa(sc.Number) }

// unknown says that there is no scenario of a name, and what there is: those that it occurs in, or all.
func unknown(all []Scenario, name string) error {
	var names, similar []string
	for _, sc := range all {
		names = append(names, sc.Name)
		for _, part := range strings.Split(name, "-") {
			if len(part) > 2 && strings.Contains(sc.Name, part) && !slices.Contains(similar, sc.Name) {
				similar = append(similar, sc.Name)
			}
		}
	}
	if len(similar) > 0 {
		return fmt.Errorf("no scenario has the name or number %q; did you mean %s? 'faults list' shows all", name, strings.Join(similar, " or "))
	}
	return fmt.Errorf("no scenario has the name or number %q; there are %s", name, strings.Join(names, ", "))
}

package core

import (
	"cmp"
	"fmt"
	"time"

	"github.com/unalike-id/unalike/coord"
	"github.com/unalike-id/unalike/internal/keeper"
	"github.com/unalike-id/unalike/internal/statefile"
)

// resolveStateFile checks StateFile, fills in Place, and adds to the rules what a state file
// allows.
func (s *settings) resolveStateFile(c coord.Coordinator, rules *coord.LeaseRules) error {
	if s.StateFile == "" {
		return nil
	}
	_, resumes := c.(coord.Resumer)
	if !resumes {
		return fmt.Errorf("%w: StateFile is %q; a %T does not lease worker IDs that the next process "+
			"could go on with (coord.Resumer); leave StateFile empty (static coordinators have a state "+
			"file of another kind: static://?worker=7&state=FILE)", ErrInvalidConfig, s.StateFile, c)
	}
	if err := statefile.Check(s.StateFile); err != nil {
		return fmt.Errorf("%w: StateFile: %w", ErrInvalidConfig, err)
	}
	s.Place = cmp.Or(coord.Describe(c).Place, s.Place)
	s.surviving = statefile.Survives(s.Place)
	rules.Surviving = s.surviving
	return nil
}

// stateFile returns the state file of a stripe.
func (s *settings) stateFile(stripe int) *statefile.File {
	path := s.StateFile
	if stripe > 0 {
		path = fmt.Sprintf("%s.%d", path, stripe)
	}
	ahead := keeper.MarkAhead + time.Duration(s.Layout.scale().Micro(s.rule.limit)-
		s.Layout.scale().Micro(0))*time.Microsecond
	return statefile.New(path, statefile.Options{Window: ahead})
}

// stateFileWarnings returns what the state file cannot do here.
func (s *settings) stateFileWarnings() []string {
	switch {
	case s.StateFile == "" || s.surviving:
		return nil
	case s.Place == "":
		return []string{"the state file is not used while the coordinator is away: the coordinator " +
			"does not know the address of its namespace; set Config.Place"}
	}
	return []string{"the state file is not used on this system: it does not tell whether the " +
		"machine was started again since"}
}

package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// stampedVersion and stampedCommit are set by the builds of a release, which need no git then:
// -ldflags "-X main.stampedVersion=v0.1.0 -X main.stampedCommit=0123abc".
var stampedVersion, stampedCommit string

// buildVersion returns the module version, the commit and Go's version, as far as
// the build recorded them.
func buildVersion() string {
	version, settings := buildInfo()
	return fmt.Sprintf("%s%s %s %s/%s", version, describeCommit(settings), runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
}

// buildInfo returns the module version and the settings, as far as the build recorded them.
func buildInfo() (version string, settings []debug.BuildSetting) {
	if stampedVersion != "" {
		return stampedVersion, []debug.BuildSetting{{Key: "vcs.revision", Value: stampedCommit}}
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)", nil
	}
	return cmp.Or(info.Main.Version, "(devel)"), info.Settings
}

// describeCommit returns the commit among the build settings, in parentheses.
func describeCommit(settings []debug.BuildSetting) string {
	values := map[string]string{}
	for _, s := range settings {
		values[s.Key] = s.Value
	}
	commit := values["vcs.revision"]
	if commit == "" {
		return ""
	}
	s := " (commit " + commit
	if t := values["vcs.time"]; t != "" {
		s += " of " + t
	}
	if values["vcs.modified"] == "true" {
		s += ", modified"
	}
	return s + ")"
}

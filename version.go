package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCommand prints what was built from what.
type versionCommand struct{}

func (*versionCommand) run(_ context.Context, p *program) (int, error) {
	fmt.Fprintf(p.stdout, "gapless %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitOK, nil
}

// version is the module's version where there is one, else the commit that was
// built, marked where the tree had changes; "devel" where neither is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, changed := "", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value[:min(12, len(setting.Value))]
		case setting.Key == "vcs.modified" && setting.Value == "true":
			changed = "+changes"
		}
	}
	if revision == "" {
		return "devel"
	}
	return revision + changed
}

package views

import "time"

// Shell is what every page has around it.
type Shell struct {
	Title   string
	Active  string // the navigation's current entry: deploys, retrospective, collectors
	Zone    string // name of the zone in which times are printed
	Version string
	// Refresh reloads the page every so many seconds where there is no JavaScript; 0 is never.
	Refresh int
}

// NewShell is the frame of a page.
func NewShell(title, active string, zone *time.Location, version string) Shell {
	return Shell{Title: title, Active: active, Zone: zone.String(), Version: version}
}

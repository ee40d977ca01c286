package analysis

import (
	"strings"
	"testing"
	"time"
)

func TestVersionMismatchBounds(t *testing.T) {
	// Version 2 was deployed; api-1 was told to stop at 100 and was ready at 110.
	returned := func(b *table) *cycle {
		b.obs.Deploy.VersionAfter = "2"
		return b.cycle("api-1", 100, 110, 0)
	}
	version := func(b *table, at float64, value string) {
		b.tell("api-1", at, EventVersion, "", "version", value)
	}
	const at120 = "api-1 120–120 before=- deployed=2 version=1 (1)"
	tryRule(t, versionMismatch, []tableCase{
		{"nobody says what was deployed", func(b *table) { returned(b); b.obs.Deploy.VersionAfter = "" }, whyVersions},
		{"no target stopped", func(b *table) { b.obs.Deploy.VersionAfter = "2" }, whyNoStop},
		{"it did not come back", func(b *table) { returned(b).ready = time.Time{}; version(b, 120, "1") }, whyNoStop},
		{"nobody told that it was ready, and it served", func(b *table) {
			c := returned(b)
			c.ready, c.firstServed = time.Time{}, b.at(112)
			version(b, 120, "1")
		}, at120},
		{"it was ready, and nobody asked it anything", func(b *table) { returned(b); version(b, 120, "1") }, at120},
		{"the version that was deployed", func(b *table) { returned(b); version(b, 120, "2") }, "clear"},
		{"it tells no version", func(b *table) { returned(b) }, whyVersions},
		{"another target tells it", func(b *table) { returned(b); b.tell("api-2", 120, EventVersion, "", "version", "1") }, whyVersions},
		{"told as it starts", func(b *table) { returned(b); b.tell("api-1", 120, EventProcessStarting, "", "version", "1") }, at120},
		{"a version of something else", func(b *table) { returned(b); b.tell("api-1", 120, EventShutdownBegan, "", "version", "1") }, whyVersions},
		{"the last word counts", func(b *table) { returned(b); version(b, 115, "2"); version(b, 120, "1") }, at120},
		{"a start that names no version", func(b *table) { returned(b); version(b, 120, "1"); b.tell("api-1", 130, EventProcessStarting, "") }, at120},
		{"as it was told to stop", func(b *table) { returned(b); version(b, 100, "1") }, "api-1 100–100 before=- deployed=2 version=1 (1)"},
		{"before it was told to stop", func(b *table) { returned(b); version(b, 99.9, "1") }, whyVersions},
		{"before, by a clock that is 2 s off at most", func(b *table) {
			returned(b)
			b.doubt = 2 * time.Second
			version(b, 98, "1")
		}, "api-1 98–98 before=- deployed=2 version=1 (1)"},
		{"before, by more than the clock may be off", func(b *table) { returned(b); b.doubt = 2 * time.Second; version(b, 97.9, "1") }, whyVersions},
		{"after the window's end", func(b *table) { returned(b); version(b, 300, "1") }, whyVersions},
		{"told once another deploy had stopped it", func(b *table) { returned(b); version(b, 120, "2"); b.taken("api-1", 150); version(b, 150, "1") }, "clear"},
		{"told before another deploy stopped it", func(b *table) { returned(b); b.taken("api-1", 150); version(b, 120, "1") }, at120},
		{"of two returns each has its own word", func(b *table) {
			returned(b)
			b.cycle("api-1", 150, 160, 0)
			version(b, 120, "2")
			version(b, 150, "1")
		}, "api-1 150–150 before=- deployed=2 version=1 (1)"},
		{"killed after it was told to stop: what it told between is the old process's", func(b *table) {
			returned(b).killed = b.at(105)
			version(b, 104, "1")
		}, whyVersions},
		{"nobody told a stop: from its readiness on", func(b *table) {
			returned(b).restart = time.Time{}
			version(b, 109, "1")
			version(b, 110, "1")
		}, "api-1 110–110 before=- deployed=2 version=1 (1)"},
		{"one of two is wrong, the other tells none", func(b *table) {
			returned(b)
			b.cycle("api-2", 150, 160, 0)
			b.obs.Deploy.VersionBefore = "1"
			version(b, 120, "1")
		}, "api-1 120–120 before=1 deployed=2 version=1 (1)"},
		{"one of two is right, the other tells none", func(b *table) {
			returned(b)
			b.cycle("api-2", 150, 160, 0)
			version(b, 120, "2")
		}, whyVersions},
	})
}

func TestSameVersion(t *testing.T) {
	whole := "1234567" + strings.Repeat("0", 32) + "e"
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"1.2", "1.2", true},
		{"v1.2", " 1.2\n", true},
		{"1.2", "1.20", false},
		{"0a1b2c3", "0a1b2c3d", true},
		{"0a1b2c3d", "0a1b2c3", true},
		{"0a1b2c", "0a1b2c3d", false}, // six digits are no abbreviation
		{"0a1b2c3", "1a1b2c3d", false},
		{"release", "release-2", false},
		{"deadbee", "deadbee-2", false},
		{"1234567", "1234568", false},
		{"20261014", "2026101402", false}, // a date and the second build of that day
		{"20261014", "20261014b", false},
		{"1234567", whole, true},
		{whole, "1234567", true},
		{"1234567", whole + "0", false},
		{"1234567", whole[:39], false},
	} {
		if sameVersion(c.a, c.b) != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, !c.same)
		}
	}
}

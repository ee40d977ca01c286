package evidence

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// FORMAT.md lists every member, in its order, and the members of the command that
// works out inputs_sha256.
func TestFormatNamesEveryMember(t *testing.T) {
	var records []string
	for _, m := range members {
		records = append(records, m.name)
	}
	all := append(slices.Clone(records), others...)
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(formatText), -1) {
		listed = append(listed, row[1])
	}
	if want := append(all, manifestName); !slices.Equal(listed, want) {
		t.Errorf("FORMAT.md lists\n%q, members are\n%q", listed, want)
	}
	_, command, _ := strings.Cut(string(formatText), "sha256sum deploy.json")
	command, _, _ = strings.Cut(command, "|")
	named := strings.Fields("deploy.json " + strings.ReplaceAll(command, "\\\n", " "))
	if !slices.Equal(named, records) {
		t.Errorf("the command sums up\n%q, records are in\n%q", named, records)
	}
}

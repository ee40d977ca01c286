package accesslog

import (
	"path"
	"regexp"
	"strings"
	"time"
)

// objectSpan is how much time one ALB log object holds: entries of the five minutes
// before the time in its name.
const objectSpan = 5 * time.Minute

// albName is the last part of an access-log object's key ("Access log files",
// Elastic Load Balancing user guide). The first group tells other ALB logs apart,
// which lie in the same folders. AWS packs every object; one without .gz was unpacked.
var albName = regexp.MustCompile(`^(conn_log_|health_check_log_)?\d{12}_elasticloadbalancing_[a-z0-9-]+_(app|net|gwy)\.([A-Za-z0-9-]+)\.([0-9a-f]+)_(\d{8}T\d{4}Z)_([0-9A-Fa-f.:]+)_([A-Za-z0-9]+)\.log(?:\.gz)?$`)

// classicName is a Classic Load Balancer's log object.
var classicName = regexp.MustCompile(`^\d{12}_elasticloadbalancing_[a-z0-9-]+_[A-Za-z0-9-]+_\d{8}T\d{4}Z_[0-9.]+_[A-Za-z0-9]+\.log$`)

// Logs that an ALB writes, as the names of their objects tell them apart.
const (
	logAccess     = "access"
	logConnection = "connection"
	logHealth     = "health"
)

// testFile is what AWS writes once to try its access to a bucket.
var testFile = regexp.MustCompile(`^ELB[A-Za-z]*TestFile$`)

// objectName is what an object's key says of its content.
type objectName struct {
	log      string // what it holds; empty: nothing that is read
	any      bool   // not named as AWS names objects, so that it may hold any log
	known    bool   // follows AWS's naming; the fields below are set
	balancer string
	node     string
	end      time.Time
}

func parseObjectName(key string) objectName {
	base := path.Base(key)
	if testFile.MatchString(base) || strings.HasPrefix(base, ".") || classicName.MatchString(base) {
		return objectName{}
	}
	log := logAccess
	switch {
	case strings.HasPrefix(base, "conn_log_"):
		log = logConnection
	case strings.HasPrefix(base, "health_check_log_"):
		log = logHealth
	}
	m := albName.FindStringSubmatch(base)
	if m == nil {
		return objectName{log: log, any: log == logAccess}
	}
	end, err := time.Parse("20060102T1504Z", m[5])
	if err != nil {
		return objectName{log: log, any: log == logAccess}
	}
	if m[2] != "app" {
		log = ""
	}
	return objectName{log: log, known: true, balancer: m[2] + "/" + m[3] + "/" + m[4], node: m[6], end: end}
}

// holds reports whether the object may hold lines of a log.
func (n *objectName) holds(log string) bool { return n.log == log || n.any }

// layoutDay is a folder of one day (or the month or year above it) in AWS's layout.
var layoutDay = regexp.MustCompile(`(?:^|/)elasticloadbalancing/[a-z0-9-]+/(\d{4})(?:/(\d\d))?(?:/(\d\d))?$`)

// dayOutside reports whether folder is one of AWS's dated folders and holds no day
// in [from, to].
func dayOutside(folder string, from, to time.Time) bool {
	m := layoutDay.FindStringSubmatch(folder)
	if m == nil {
		return false
	}
	first, last, layout := from.UTC(), to.UTC(), "2006"
	have := m[1]
	if m[2] != "" {
		layout, have = layout+"-01", have+"-"+m[2]
	}
	if m[3] != "" {
		layout, have = layout+"-02", have+"-"+m[3]
	}
	return have < first.Format(layout) || have > last.Format(layout)
}

// days lists the UTC days that [from, to] touches, as yyyy/mm/dd.
func days(from, to time.Time) []string {
	var list []string
	last := to.UTC().Format("2006/01/02")
	for day := from.UTC().Truncate(24 * time.Hour); ; day = day.AddDate(0, 0, 1) {
		name := day.Format("2006/01/02")
		if name > last {
			return list
		}
		list = append(list, name)
	}
}

package gauges

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// selector names series: name{label="value",…}. Labels that it does not name may have
// any value.
type selector struct {
	name   string
	labels map[string]string
}

const selectorAllowed = `allowed: name or name{label="value"}, such as tomcat_threads_busy_threads or hikaricp_connections_active{pool="main"}`

func parseSelector(text string) (selector, error) {
	s := selector{labels: map[string]string{}}
	name, rest, labelled := strings.Cut(strings.TrimSpace(text), "{")
	s.name = strings.TrimSpace(name)
	if !model.LegacyValidation.IsValidMetricName(s.name) {
		return s, fmt.Errorf("%q is not the name of a metric; %s", s.name, selectorAllowed)
	}
	if !labelled {
		return s, nil
	}
	for {
		rest = strings.TrimSpace(rest)
		if rest == "}" {
			return s, nil
		}
		label, value, ok := strings.Cut(rest, "=")
		label, value = strings.TrimSpace(label), strings.TrimSpace(value)
		quoted, err := strconv.QuotedPrefix(value)
		if !ok || err != nil || !model.LegacyValidation.IsValidLabelName(label) {
			return s, fmt.Errorf("%q is not a selector; %s", text, selectorAllowed)
		}
		if s.labels[label], err = strconv.Unquote(quoted); err != nil {
			return s, fmt.Errorf("%q is not a selector; %s", text, selectorAllowed)
		}
		rest = strings.TrimSpace(value[len(quoted):])
		switch {
		case rest == "}":
			return s, nil
		case strings.HasPrefix(rest, ","):
			rest = rest[1:]
		default:
			return s, fmt.Errorf("%q is not a selector; %s", text, selectorAllowed)
		}
	}
}

func (s *selector) takes(labels []*dto.LabelPair) bool {
	found := 0
	for _, label := range labels {
		if want, ok := s.labels[label.GetName()]; ok {
			if want != label.GetValue() {
				return false
			}
			found++
		}
	}
	return found == len(s.labels)
}

// valuesIn reads the values that are looked for from a page in the text exposition
// format, version 0.0.4. Series that one selector takes are summed, so that a sum is
// told only where every one of them is a number and on the page once. Of a page that is
// not whole nothing is told: what is missing may belong to any sum. The error names
// every value that is missing, and why.
func valuesIn(page []byte, reads []read) (map[string]float64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	if err != nil {
		if len(families) == 0 {
			return nil, badReply("not the text exposition format: " + err.Error())
		}
		return nil, badReply("the page is not whole: " + err.Error())
	}
	values := map[string]float64{}
	var missing []string
	for i := range reads {
		value, why := reads[i].sum(samplesOf(families, reads[i].name))
		if why != "" {
			missing = append(missing, reads[i].from+": "+why)
			continue
		}
		values[reads[i].role] = value
	}
	if len(missing) > 0 {
		return values, badReply(strings.Join(missing, ", "))
	}
	return values, nil
}

// sum adds what the selector takes; why says why there is no sum.
func (s *selector) sum(samples []sample) (sum float64, why string) {
	seen := map[string]bool{}
	for _, each := range samples {
		if !s.takes(each.labels) {
			continue
		}
		if math.IsNaN(each.value) || math.IsInf(each.value, 0) {
			return 0, fmt.Sprintf("a series has the value %v", each.value)
		}
		series := seriesKey(each.labels)
		if seen[series] {
			return 0, "the same series is on the page twice"
		}
		seen[series] = true
		sum += each.value
	}
	if len(seen) == 0 {
		return 0, "not on the page"
	}
	if math.IsInf(sum, 0) {
		return 0, "the sum is too large for a number"
	}
	return sum, ""
}

// seriesKey tells series of one name apart.
func seriesKey(labels []*dto.LabelPair) string {
	pairs := make([]string, len(labels))
	for i, label := range labels {
		pairs[i] = strconv.Quote(label.GetName()) + "=" + strconv.Quote(label.GetValue())
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

type sample struct {
	labels []*dto.LabelPair
	value  float64
}

// samplesOf are the series of one name. Those of histograms and summaries are their
// counts and sums, as they stand on the page.
func samplesOf(families map[string]*dto.MetricFamily, name string) []sample {
	var samples []sample
	if family := families[name]; family != nil {
		for _, m := range family.GetMetric() {
			switch {
			case m.Gauge != nil:
				samples = append(samples, sample{m.Label, m.Gauge.GetValue()})
			case m.Counter != nil:
				samples = append(samples, sample{m.Label, m.Counter.GetValue()})
			case m.Untyped != nil:
				samples = append(samples, sample{m.Label, m.Untyped.GetValue()})
			}
		}
	}
	base, isCount := strings.CutSuffix(name, "_count")
	if !isCount {
		var isSum bool
		if base, isSum = strings.CutSuffix(name, "_sum"); !isSum {
			return samples
		}
	}
	for _, m := range families[base].GetMetric() {
		var count, sum float64
		switch {
		case m.Histogram != nil:
			count, sum = float64(m.Histogram.GetSampleCount()), m.Histogram.GetSampleSum()
		case m.Summary != nil:
			count, sum = float64(m.Summary.GetSampleCount()), m.Summary.GetSampleSum()
		default:
			continue
		}
		if isCount {
			samples = append(samples, sample{m.Label, count})
		} else {
			samples = append(samples, sample{m.Label, sum})
		}
	}
	return samples
}

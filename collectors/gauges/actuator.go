package gauges

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// statistics are what an Actuator's metric may hold, as Micrometer names them; where
// none is asked for, the first of these that there is.
var statistics = []string{"VALUE", "ACTIVE_TASKS", "COUNT", "TOTAL", "TOTAL_TIME", "MAX", "DURATION"}

func parseActuator(text string) (path, statistic string, err error) {
	const allowed = "allowed: name[?tag=key:value][#STATISTIC], such as executor.active?tag=name:orders"
	rest, statistic, asked := strings.Cut(strings.TrimSpace(text), "#")
	name, query, _ := strings.Cut(rest, "?")
	if name == "" || strings.ContainsAny(name, "/ ") {
		return "", "", fmt.Errorf("%q is not the name of a metric; %s", name, allowed)
	}
	if asked && !slices.Contains(statistics, statistic) {
		return "", "", fmt.Errorf("%q is no statistic; allowed: %s", statistic, strings.Join(statistics, ", "))
	}
	tags, err := url.ParseQuery(query)
	if err != nil {
		return "", "", fmt.Errorf("%q is no query; %s", query, allowed)
	}
	for key := range tags {
		if key != "tag" {
			return "", "", fmt.Errorf("%q is not tag; %s", key, allowed)
		}
	}
	path = "/" + url.PathEscape(name)
	if len(tags) > 0 {
		path += "?" + tags.Encode()
	}
	return path, statistic, nil
}

// askActuator asks for one metric after another.
func (s *Scraper) askActuator(ctx context.Context) (map[string]float64, error) {
	values := map[string]float64{}
	var failed []error
	for _, each := range s.reads {
		value, err := s.askOne(ctx, each)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", each.from, err))
			continue
		}
		values[each.role] = value
	}
	return values, errors.Join(failed...)
}

func (s *Scraper) askOne(ctx context.Context, r read) (float64, error) {
	body, err := s.get(ctx, strings.TrimRight(s.cfg.URL, "/")+r.actuatorPath, "application/json")
	if err != nil {
		return 0, err
	}
	var page struct {
		Measurements []struct {
			Statistic string   `json:"statistic"`
			Value     *float64 `json:"value"`
		} `json:"measurements"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return 0, badReply("not an Actuator's metric: " + err.Error())
	}
	wanted := statistics
	if r.statistic != "" {
		wanted = []string{r.statistic}
	}
	for _, statistic := range wanted {
		for _, m := range page.Measurements {
			if m.Statistic == statistic && m.Value != nil {
				return *m.Value, nil
			}
		}
	}
	return 0, badReply("it has no " + strings.Join(wanted, ", "))
}

package views

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

// values reads what a finding or a condition carries. The same keys hold Go values
// when the judge has just made them and plain JSON ones when a report was stored, so
// every accessor takes both, and says whether there was anything.
type values map[string]any

// get is the value with pointers followed; nil where there is none.
func (v values) get(key string) any {
	r := reflect.ValueOf(v[key])
	for r.Kind() == reflect.Pointer {
		if r.IsNil() {
			return nil
		}
		r = r.Elem()
	}
	if !r.IsValid() {
		return nil
	}
	return r.Interface()
}

func (v values) number(key string) (float64, bool) {
	value := v.get(key)
	if n, ok := value.(json.Number); ok {
		f, err := n.Float64()
		return f, err == nil
	}
	if d, ok := value.(time.Duration); ok {
		return d.Seconds(), true
	}
	r := reflect.ValueOf(value)
	switch {
	case !r.IsValid():
		return 0, false
	case r.CanInt():
		return float64(r.Int()), true
	case r.CanUint():
		return float64(r.Uint()), true
	case r.CanFloat():
		return r.Float(), true
	}
	return 0, false
}

func (v values) count(key string) (int, bool) {
	n, ok := v.number(key)
	return int(n), ok
}

// classes words counts per class, "7 user requests and 3 probe requests"; empty where
// there are none.
func (v values) classes(key string) string {
	r := reflect.ValueOf(v.get(key))
	if r.Kind() != reflect.Map {
		return ""
	}
	counts := values{}
	for _, k := range r.MapKeys() {
		counts[k.String()] = r.MapIndex(k).Interface()
	}
	var parts []string
	for _, class := range analysis.Classes {
		if n, ok := counts.count(string(class)); ok && n > 0 {
			parts = append(parts, requests(n, class))
		}
	}
	return list(parts)
}

// class is the count of one class, ok where it was counted.
func (v values) class(key string, class analysis.Class) (int, bool) {
	r := reflect.ValueOf(v.get(key))
	if r.Kind() != reflect.Map {
		return 0, false
	}
	for _, k := range r.MapKeys() {
		if k.String() == string(class) {
			return values{"n": r.MapIndex(k).Interface()}.count("n")
		}
	}
	return 0, false
}

func (v values) text(key string) string {
	r := reflect.ValueOf(v.get(key))
	if r.IsValid() && r.Kind() == reflect.String {
		return r.String()
	}
	return ""
}

func (v values) time(key string) (time.Time, bool) {
	switch t := v.get(key).(type) {
	case analysis.Time:
		return t.Time, !t.IsZero()
	case time.Time:
		return t, !t.IsZero()
	case string:
		parsed, err := time.Parse(time.RFC3339Nano, t)
		return parsed, err == nil
	}
	return time.Time{}, false
}

func (v values) list(key string) []string {
	r := reflect.ValueOf(v.get(key))
	if !r.IsValid() || r.Kind() != reflect.Slice {
		if s := v.text(key); s != "" {
			return []string{s}
		}
		return nil
	}
	var texts []string
	for i := range r.Len() {
		texts = append(texts, fmt.Sprint(r.Index(i).Interface()))
	}
	return texts
}

// String lists the values that are there, for a code that has no words of its own.
func (v values) String() string {
	var parts []string
	for key := range v {
		value := v.get(key)
		if value == nil {
			continue
		}
		text := fmt.Sprint(value)
		if n, ok := v.number(key); ok {
			text = number(n)
		} else if t, ok := v.time(key); ok {
			text = t.UTC().Format(utcLayout)
		}
		parts = append(parts, strings.ReplaceAll(key, "_", " ")+" "+text)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// lists reads lists of texts by name.
func (v values) lists(key string) map[string][]string {
	switch value := v.get(key).(type) {
	case map[string][]string:
		return value
	case map[string]any:
		lists := map[string][]string{}
		for name, each := range value {
			items, ok := each.([]any)
			if !ok {
				continue
			}
			lists[name] = []string{}
			for _, item := range items {
				if text, ok := item.(string); ok {
					lists[name] = append(lists[name], text)
				}
			}
		}
		return lists
	}
	return nil
}

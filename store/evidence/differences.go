package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Difference is one field in which two reports differ. Was and Is are its values as
// JSON; empty where the field is not there.
type Difference struct {
	Field   string // such as targets[1].eject_s.value
	Was, Is string
}

// Differences compares two reports field by field. Fields that are stated, not
// recomputed, are left out where skip says so; it is given the same names.
func Differences(was, is []byte, skip func(field string) bool) ([]Difference, error) {
	a, err := tree(was)
	if err != nil {
		return nil, fmt.Errorf("the report of the bundle: %w", err)
	}
	b, err := tree(is)
	if err != nil {
		return nil, fmt.Errorf("the recomputed report: %w", err)
	}
	c := comparison{skip: skip}
	c.compare("", a, b)
	return c.found, nil
}

// tree decodes JSON with numbers as they stand. A key that is there twice, of which
// decoding would hide one, is an error.
func tree(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := next(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after it")
	}
	return v, nil
}

func next(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			if _, twice := object[name]; twice {
				return nil, fmt.Errorf("key %q is there twice", name)
			}
			if object[name], err = next(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := next(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

type comparison struct {
	skip  func(string) bool
	found []Difference
}

func (c *comparison) compare(field string, was, is any) {
	if field != "" && c.skip(field) {
		return
	}
	switch a := was.(type) {
	case map[string]any:
		if b, ok := is.(map[string]any); ok {
			c.objects(field, a, b)
			return
		}
	case []any:
		if b, ok := is.([]any); ok {
			for i := range max(len(a), len(b)) {
				c.pair(field+"["+strconv.Itoa(i)+"]", at(a, i), at(b, i))
			}
			return
		}
	default:
		switch is.(type) {
		case map[string]any, []any:
		default:
			if was == is {
				return
			}
		}
	}
	c.found = append(c.found, Difference{field, shown(was), shown(is)})
}

func (c *comparison) objects(field string, a, b map[string]any) {
	keys := []string{}
	for key := range a {
		keys = append(keys, key)
	}
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		name := key
		if field != "" {
			name = field + "." + key
		}
		var was, is *any
		if v, ok := a[key]; ok {
			was = &v
		}
		if v, ok := b[key]; ok {
			is = &v
		}
		c.pair(name, was, is)
	}
}

// pair compares two values of which one may not be there.
func (c *comparison) pair(field string, was, is *any) {
	switch {
	case was != nil && is != nil:
		c.compare(field, *was, *is)
	case c.skip(field):
	case was != nil:
		c.found = append(c.found, Difference{field, shown(*was), ""})
	default:
		c.found = append(c.found, Difference{field, "", shown(*is)})
	}
}

func at(list []any, i int) *any {
	if i >= len(list) {
		return nil
	}
	return &list[i]
}

func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

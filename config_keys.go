package main

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
)

// allowedKeys are the keys that the mapping at a path may have, where the file's
// shapes fix them: services[0].window has baseline, tail, settle and max.
func allowedKeys(path string) []string {
	shape := reflect.TypeFor[configFile]()
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' }) {
		for shape.Kind() == reflect.Pointer {
			shape = shape.Elem()
		}
		switch {
		case strings.HasSuffix(step, "]") && shape.Kind() == reflect.Slice:
			shape = shape.Elem()
		case shape.Kind() == reflect.Struct:
			i := fieldOf(shape, step)
			if i < 0 {
				return nil
			}
			shape = shape.Field(i).Type
		default:
			return nil
		}
	}
	for shape.Kind() == reflect.Pointer {
		shape = shape.Elem()
	}
	if shape == reflect.TypeFor[logRuleFile]() {
		shape = reflect.TypeFor[ownRuleFile]()
	}
	if shape.Kind() != reflect.Struct {
		return nil
	}
	var keys []string
	for field := range shape.Fields() {
		keys = append(keys, keyOf(field))
	}
	return keys
}

func fieldOf(shape reflect.Type, key string) int {
	for i := range shape.NumField() {
		if keyOf(shape.Field(i)) == key {
			return i
		}
	}
	return -1
}

func keyOf(field reflect.StructField) string {
	key, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
	return key
}

// tabProblem is that a line is indented with a tab, which YAML does not allow and
// its reader words in other ways; nil where none is.
func tabProblem(path string, body []byte) error {
	number := 0
	for line := range bytes.Lines(body) {
		number++
		if indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]; bytes.ContainsRune(indent, '\t') {
			return fmt.Errorf("%s:%d: the line is indented with a tab, which YAML does not allow; use spaces", path, number)
		}
	}
	return nil
}

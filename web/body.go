package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"gapless/analysis"
)

func bodyOf(c echo.Context) ([]byte, error) { return io.ReadAll(c.Request().Body) }

// decode reads a JSON body; what names it in the error.
func decode(body []byte, into any, what string) error {
	if err := json.Unmarshal(body, into); err != nil {
		return badRequest("The body is not " + what + ": " + unreadable(body, err))
	}
	return nil
}

// unreadable words why a body does not decode: of a time that is none with the keys
// that hold it.
func unreadable(body []byte, err error) string {
	var wrong *analysis.NoTimeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	var tree any
	if json.Unmarshal(body, &tree) != nil {
		return wrong.Error() + "."
	}
	keys := map[string]bool{}
	keysHolding(tree, wrong.Text, keys)
	return strings.Join(slices.Sorted(maps.Keys(keys)), ", ") + " " + wrong.Error() + "."
}

// keysHolding collects the keys under which a value, as its JSON is written, stands in
// a tree.
func keysHolding(node any, text string, keys map[string]bool) {
	switch node := node.(type) {
	case []any:
		for _, each := range node {
			keysHolding(each, text, keys)
		}
	case map[string]any:
		for key, each := range node {
			var same any
			if json.Unmarshal([]byte(text), &same) == nil && reflect.DeepEqual(each, same) {
				keys[key] = true
			}
			keysHolding(each, text, keys)
		}
	}
}

// decodeStrictly refuses a body with a key that is none of its own: whatever was
// meant by it would be stored as something else. What stands inside of its values is
// not looked at.
func decodeStrictly(c echo.Context, into any, what string) error {
	body, err := bodyOf(c)
	if err != nil {
		return err
	}
	if err := decode(body, into, what); err != nil {
		return err
	}
	shape := reflect.TypeOf(into).Elem()
	if unknown := unknownKeys(body, shape); len(unknown) > 0 {
		return badRequest(fmt.Sprintf("%s has no key %s; allowed: %s.", upper(what), quoted(unknown), strings.Join(keysOf(shape), ", ")))
	}
	return nil
}

// ignoredKeys warns of keys that a step, or a list of steps, does not have. They are
// ignored, so that those who tell more than this version knows can tell it.
func ignoredKeys(body []byte, shape reflect.Type) []string {
	unknown := unknownKeys(body, shape)
	if len(unknown) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("ignored what is not known here: %s; known are: %s", quoted(unknown), strings.Join(keysOf(shape), ", "))}
}

// unknownKeys are the keys of a JSON object, or of the objects of a list, that a
// structure has no field for, sorted. Like encoding/json it takes no notice of case.
func unknownKeys(body []byte, shape reflect.Type) []string {
	objects := make([]map[string]json.RawMessage, 1)
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
		err = json.Unmarshal(body, &objects)
	} else {
		err = json.Unmarshal(body, &objects[0])
	}
	if err != nil {
		return nil // whoever decodes it into its structure says what is wrong
	}
	known, unknown := keysOf(shape), map[string]bool{}
	for _, object := range objects {
		for key := range object {
			if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, key) }) {
				unknown[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(unknown))
}

// keysOf are the JSON keys of a structure, those of embedded ones among them.
func keysOf(shape reflect.Type) (keys []string) {
	for _, field := range reflect.VisibleFields(shape) {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// maxNamedKeys bounds the keys that an answer names, and maxNamedKey each of them.
const (
	maxNamedKeys = 5
	maxNamedKey  = 60
)

func quoted(keys []string) string {
	named := make([]string, min(len(keys), maxNamedKeys))
	for i := range named {
		named[i] = fmt.Sprintf("%.*q", maxNamedKey, keys[i])
	}
	if more := len(keys) - len(named); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(named, ", "), more)
	}
	return strings.Join(named, ", ")
}

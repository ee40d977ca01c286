package evidence

import (
	"reflect"
	"testing"
)

func TestDifferences(t *testing.T) {
	for name, test := range map[string]struct {
		was, is string
		want    []Difference
	}{
		"the same, in another order": {`{"a":1,"b":[1,{"c":null}]}`, `{"b":[1,{"c":null}],"a":1}`, nil},
		"a value":                    {`{"a":{"b":[1,2]}}`, `{"a":{"b":[1,3]}}`, []Difference{{"a.b[1]", "2", "3"}}},
		"a number's form":            {`{"a":1}`, `{"a":1.0}`, []Difference{{"a", "1", "1.0"}}},
		"null and nothing":           {`{"a":null}`, `{}`, []Difference{{"a", "null", ""}}},
		"nothing and null":           {`{}`, `{"a":null}`, []Difference{{"a", "", "null"}}},
		"null and zero":              {`{"a":null}`, `{"a":0}`, []Difference{{"a", "null", "0"}}},
		"longer":                     {`{"a":[1]}`, `{"a":[1,2]}`, []Difference{{"a[1]", "", "2"}}},
		"shorter":                    {`{"a":[1,2]}`, `{"a":[1]}`, []Difference{{"a[1]", "2", ""}}},
		"of another kind":            {`{"a":[1]}`, `{"a":{"b":1}}`, []Difference{{"a", "[1]", `{"b":1}`}}},
		"a list for a value":         {`{"a":"x"}`, `{"a":["x"]}`, []Difference{{"a", `"x"`, `["x"]`}}},
		"an object for null":         {`{"a":null}`, `{"a":{}}`, []Difference{{"a", "null", "{}"}}},
		"two":                        {`{"a":1,"b":true}`, `{"a":2,"b":false}`, []Difference{{"a", "1", "2"}, {"b", "true", "false"}}},
		"what is stated":             {`{"p":{"stated":1,"x":1}}`, `{"p":{"stated":2,"x":2}}`, []Difference{{"p.x", "1", "2"}}},
		"what is stated and missing": {`{"p":{"stated":1}}`, `{"p":{}}`, nil},
	} {
		got, err := Differences([]byte(test.was), []byte(test.is), func(field string) bool { return field == "p.stated" })
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, %v; want %v", name, got, err, test.want)
		}
	}
	for _, bad := range []string{``, `{`, `{"a":1,"a":1}`, `{} {}`, `{"a":}`} {
		if _, err := Differences([]byte(bad), []byte(`{}`), func(string) bool { return false }); err == nil {
			t.Errorf("%q was taken for a report", bad)
		}
	}
}

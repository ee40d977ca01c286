package jsonobject

import (
	"encoding/json"
	"testing"
)

// Whatever encoding/json takes for an object is taken apart into the same members.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1,"b":[1,{"c":"]"}],"d":"\"}"}`, ` { "a" : null , "b" : {} } `, `{"a":`, `{"a":1}x`, `{"\u0061":"\n"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		got := map[string]string{}
		ok := Members(line, func(key, value []byte) {
			var name string
			if json.Unmarshal(append(append([]byte{'"'}, key...), '"'), &name) == nil {
				got[name] = string(value)
			}
			Text(value)
		})
		var want map[string]json.RawMessage
		if json.Unmarshal(line, &want) != nil || want == nil {
			return
		}
		if !ok || len(got) != len(want) {
			t.Fatalf("%q: got %v %q, want %q", line, ok, got, want)
		}
		for name, value := range want {
			if got[name] != string(value) {
				t.Errorf("%q: %s is %q, want %q", line, name, got[name], value)
			}
		}
	})
}

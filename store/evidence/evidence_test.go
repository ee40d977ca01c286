package evidence

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gapless/analysis"
)

// Everything that observations hold comes back: every field of every record is set
// by reflection, so that a field that is added to the vocabulary and not to the
// bundle fails here.
func TestNothingIsLost(t *testing.T) {
	for seed := range uint64(20) {
		want := invented(seed)
		bundle := readBack(t, write(t, want))
		want.Change, want.Revisions, want.Part = 0, nil, analysis.Part{} // no evidence
		if got := bundle.Observations; !reflect.DeepEqual(plain(got), plain(want)) {
			for i := range reflect.TypeFor[analysis.Observations]().NumField() {
				a, b := reflect.ValueOf(plain(got)).Field(i), reflect.ValueOf(plain(want)).Field(i)
				if !reflect.DeepEqual(a.Interface(), b.Interface()) {
					t.Errorf("%s:\n got %.3000v\nwant %.3000v", reflect.TypeFor[analysis.Observations]().Field(i).Name, a, b)
				}
			}
		}
		if string(bundle.Report) != `{"schema":1}` {
			t.Errorf("report: %s", bundle.Report)
		}
	}
}

func TestEmptyObservations(t *testing.T) {
	bundle := readBack(t, write(t, analysis.Observations{}))
	if !reflect.DeepEqual(bundle.Observations, analysis.Observations{}) {
		t.Errorf("%+v", bundle.Observations)
	}
}

func TestSameEvidenceSameBytes(t *testing.T) {
	a, b := write(t, invented(1)), write(t, invented(1))
	if !bytes.Equal(a, b) {
		t.Error("two bundles of the same evidence differ")
	}
	inputs, err := InputsSHA256(invented(1))
	if err != nil {
		t.Fatal(err)
	}
	if bundle := readBack(t, a); bundle.Manifest.Inputs != inputs {
		t.Errorf("the bundle's inputs are %s, the observations' %s", bundle.Manifest.Inputs, inputs)
	}
	if other, err := InputsSHA256(invented(2)); err != nil || other == inputs {
		t.Errorf("other observations have the same hash, or none: %v", err)
	}
}

// Each of a thousand random alterations of one byte is found, and so are those of
// bytes that are not a member's own: headers, directory, seal.
func TestEveryAlterationIsFound(t *testing.T) {
	whole := write(t, invented(3))
	regions := regionsOf(t, whole)
	random := rand.New(rand.NewPCG(1, 2))
	places := make([]int, 0, len(whole))
	for range 1000 {
		places = append(places, random.IntN(len(whole)))
	}
	for at := range whole {
		if memberAt(regions, at) == "" && (at%7 == 0 || at > len(whole)-220) {
			places = append(places, at)
		}
	}
	for _, at := range places {
		altered := slices.Clone(whole)
		altered[at] ^= byte(1 + random.IntN(255))
		_, problems := Read(bytes.NewReader(altered), int64(len(altered)))
		if len(problems) == 0 {
			t.Fatalf("byte %d of %d was altered, and it was not found", at, len(whole))
		}
		if member := memberAt(regions, at); member != "" && !slices.ContainsFunc(problems, func(p Problem) bool { return p.Member == member }) {
			t.Errorf("byte %d is one of %s, which is not named: %v", at, member, problems)
		}
		if _, err := CheckSeal(bytes.NewReader(altered), int64(len(altered))); err == nil {
			t.Fatalf("byte %d was altered, and the seal holds", at)
		}
	}
}

func TestCutOrLengthenedFiles(t *testing.T) {
	whole := write(t, invented(4))
	for name, body := range map[string][]byte{
		"empty":             {},
		"a byte short":      whole[:len(whole)-1],
		"half":              whole[:len(whole)/2],
		"a byte more":       append(slices.Clone(whole), 'x'),
		"a byte in front":   append([]byte{'x'}, whole...),
		"twice":             append(slices.Clone(whole), whole...),
		"only the seal":     whole[len(whole)-int(sealLen):],
		"something else":    []byte(strings.Repeat("not a zip ", 100)),
		"an ordinary empty": emptyZip(t),
	} {
		if _, problems := Read(bytes.NewReader(body), int64(len(body))); len(problems) == 0 {
			t.Errorf("%s: nothing was found", name)
		}
	}
}

// Whoever makes a bundle with hashes that fit still cannot make it say anything
// that gapless would not write.
func TestForgedBundles(t *testing.T) {
	body := write(t, invented(5))
	steps := contentOf(t, body, "steps.ndjson")
	for name, test := range map[string]struct {
		change func(contents map[string][]byte)
		member string
		says   string
	}{
		"a key twice": {func(c map[string][]byte) {
			c["steps.ndjson"] = bytes.Replace(steps, []byte(`{"deploy"`), []byte(`{"kind":"x","deploy"`), 1)
		}, "steps.ndjson", "not as gapless writes it"},
		"another key": {func(c map[string][]byte) {
			c["steps.ndjson"] = bytes.Replace(steps, []byte("}\n"), []byte(`,"a":1}`+"\n"), 1)
		}, "steps.ndjson", "not as gapless writes it"},
		"a space":        {func(c map[string][]byte) { c["steps.ndjson"] = bytes.Replace(steps, []byte(`{"`), []byte(`{ "`), 1) }, "steps.ndjson", "not as gapless writes it"},
		"no end of line": {func(c map[string][]byte) { c["steps.ndjson"] = bytes.TrimSuffix(steps, []byte("\n")) }, "steps.ndjson", "no end"},
		"a record less":  {func(c map[string][]byte) { c["steps.ndjson"] = steps[bytes.IndexByte(steps, '\n')+1:] }, "steps.ndjson", "the manifest says"},
		"a record more": {func(c map[string][]byte) {
			c["steps.ndjson"] = slices.Concat(steps, steps[:bytes.IndexByte(steps, '\n')+1])
		}, "steps.ndjson", "more than the"},
		"another deploy": {func(c map[string][]byte) {
			line, err := lineOf(newLineWriter(io.Discard), &analysis.Deploy{ID: "another"}, deployOf)
			check(t, err)
			c["deploy.json"] = line
		}, "manifest.json", "names another deploy"},
		"no deploy":       {func(c map[string][]byte) { c["deploy.json"] = nil }, "deploy.json", ""},
		"no JSON":         {func(c map[string][]byte) { c["cells.ndjson"] = []byte("{\n") }, "cells.ndjson", ""},
		"a missing one":   {func(c map[string][]byte) { delete(c, "cells.ndjson") }, "cells.ndjson", "missing"},
		"an extra one":    {func(c map[string][]byte) { c["notes.txt"] = []byte("hello") }, "", `"notes.txt"`},
		"a path upwards":  {func(c map[string][]byte) { c["../../etc/passwd"] = []byte("root") }, "", `"../../etc/passwd"`},
		"an absolute one": {func(c map[string][]byte) { c["/etc/passwd"] = []byte("root") }, "", `"/etc/passwd"`},
		"too many numbers": {func(c map[string][]byte) {
			c["known.ndjson"] = bytes.Repeat([]byte(`{"source":"s","node":null,"run":"r","seqs":[[0,4294967295]]}`+"\n"), bytes.Count(c["known.ndjson"], []byte("\n")))
		}, "known.ndjson", "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			forged := forge(t, body, test.change)
			_, problems := Read(bytes.NewReader(forged), int64(len(forged)))
			if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Member == test.member && strings.Contains(p.What, test.says) }) {
				t.Errorf("want %q about %q: %v", test.says, test.member, problems)
			}
		})
	}
	// The forger is sound: without a change, the bundle is as it was.
	if same := forge(t, body, func(map[string][]byte) {}); !bytes.Equal(same, body) {
		t.Error("a forged bundle without a change differs")
	}
}

// Sizes that are said to be large are refused before anything is unpacked; sizes that
// are said to be small, as soon as more comes out.
func TestBombs(t *testing.T) {
	var zeros bytes.Buffer
	w, err := flate.NewWriter(&zeros, flate.BestCompression)
	check(t, err)
	_, err = w.Write(make([]byte, 32<<20))
	check(t, err)
	check(t, w.Close())
	for name, test := range map[string]struct {
		said uint64
		says string
	}{
		"too well compressed":  {32 << 20, "that is no evidence"},
		"too large":            {maxContent + 1, "more than is read"},
		"larger than anything": {1 << 62, "more than is read"},
		"larger than it says":  {1000, "larger than the 1000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, member := range []string{"cells.ndjson", reportName} {
				bomb := bombIn(t, member, zeros.Bytes(), test.said)
				_, problems := Read(bytes.NewReader(bomb), int64(len(bomb)))
				if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Member == member && strings.Contains(p.What, test.says) }) {
					t.Errorf("want %q of %s: %v", test.says, member, problems)
				}
			}
		})
	}
}

func TestWhatCannotBeWrittenIsRefused(t *testing.T) {
	for name, o := range map[string]analysis.Observations{
		"numbers that do not ascend": {Known: []analysis.KnownRequests{{Run: "r", Seqs: []uint32{2, 1}}}},
		"a probe without a run":      {Probes: []analysis.ProbeRequest{{Seq: 1}}},
		"a time far away":            {From: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"a record without an end":    {Requests: []analysis.Request{{URL: strings.Repeat("x", maxLine)}}},
		"a sum that is no number":    {Metrics: []analysis.MetricSum{{Sum: math.NaN()}}},
		"a gauge that is no number":  {Gauges: []analysis.Gauge{{Value: math.Inf(1)}}},
	} {
		_, err := Write(io.Discard, o, Versions{}, func(string) ([]byte, error) { return []byte("{}"), nil })
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	_, err := Write(io.Discard, analysis.Observations{}, Versions{}, func(string) ([]byte, error) { return nil, io.ErrUnexpectedEOF })
	if err == nil {
		t.Error("no error where there is no report")
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	_, err := Write(&b, invented(7), Versions{}, func(string) ([]byte, error) { return []byte("{}"), nil })
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, body []byte) {
		bundle, problems := Read(bytes.NewReader(body), int64(len(body)))
		if len(problems) > 0 {
			return
		}
		var again bytes.Buffer
		_, err := Write(&again, bundle.Observations, bundle.Versions, func(string) ([]byte, error) { return bundle.Report, nil })
		if err != nil || !bytes.Equal(again.Bytes(), body) {
			t.Errorf("a bundle was taken that is written otherwise: %v", err)
		}
	})
}

// The rest helps the tests above.

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, o analysis.Observations) []byte {
	t.Helper()
	var b bytes.Buffer
	known, err := Write(&b, o, Versions{Binary: "test", Go: "go1", Schema: 1}, func(inputs string) ([]byte, error) {
		if len(inputs) != digest {
			t.Errorf("the inputs' hash is %q", inputs)
		}
		return []byte(`{"schema":1}`), nil
	})
	check(t, err)
	sealed, err := CheckSeal(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || sealed != known {
		t.Fatalf("the seal says %s, %v; want %s", sealed, err, known)
	}
	return b.Bytes()
}

func readBack(t *testing.T, body []byte) *Bundle {
	t.Helper()
	bundle, problems := Read(bytes.NewReader(body), int64(len(body)))
	for _, p := range problems {
		t.Error(p)
	}
	if t.Failed() {
		t.FailNow()
	}
	return bundle
}

// plain makes histograms comparable: the same one may stand in several forms.
func plain(o analysis.Observations) analysis.Observations {
	o.Latencies = slices.Clone(o.Latencies)
	for i := range o.Latencies {
		b, _ := o.Latencies[i].Took.AppendBinary(nil)
		o.Latencies[i].Took, _, _ = analysis.DecodeHistogram(b)
	}
	return o
}

// invented are observations in which every field of every record has a value.
func invented(seed uint64) analysis.Observations {
	random := rand.New(rand.NewPCG(seed, 7))
	var o analysis.Observations
	fill(reflect.ValueOf(&o).Elem(), random)
	return o
}

var words = []string{"api-1", odd, "ok", "/v1/orders?a=<1>&b=2", "Grüße \u2028 \ufffd \\ufffd", "quote \" and \n", ""}

// odd is what only log lines may hold.
const odd = "bytes \xff\xfe and \ufffd"

func fill(v reflect.Value, random *rand.Rand) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1_800_000_000+random.Int64N(1e6), random.Int64N(1e6)*[]int64{1, 1000}[random.IntN(2)]).UTC()))
		return
	case time.Duration:
		v.SetInt(random.Int64N(1e13))
		return
	case *time.Duration: // or not known
		if random.IntN(3) > 0 {
			v.Set(reflect.ValueOf(new(time.Duration(random.Int64N(1e13)))))
		}
		return
	case *analysis.Histogram:
		h := new(analysis.Histogram)
		for range random.IntN(200) {
			h.Add(random.Int64N(1 << (1 + random.IntN(40))))
		}
		v.Set(reflect.ValueOf(h))
		return
	case analysis.Class:
		v.Set(reflect.ValueOf(analysis.Classes[random.IntN(len(analysis.Classes))]))
		return
	case analysis.Outcome:
		v.Set(reflect.ValueOf(analysis.Outcomes[random.IntN(len(analysis.Outcomes))]))
		return
	case analysis.KnownRequests:
		k := analysis.KnownRequests{Source: "alb", Node: "10.0.0.1", Run: "r-1"}
		for seq, n := uint32(0), random.IntN(100); len(k.Seqs) < n+1; seq += 1 + uint32(random.IntN(3)) {
			k.Seqs = append(k.Seqs, seq)
		}
		v.Set(reflect.ValueOf(k))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(words[random.IntN(len(words))])
	case reflect.Bool:
		v.SetBool(random.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(random.Int64N(1000))
	case reflect.Float64:
		v.SetFloat(random.NormFloat64() * 1e6)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1+random.IntN(20), 20))
		for i := range v.Len() {
			fill(v.Index(i), random)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 1 + random.IntN(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(key, random)
			fill(value, random)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			switch field := v.Field(i); v.Type().Field(i).Name {
			case "Run", "ProbeRun": // parts of an id
				if field.Kind() == reflect.String {
					field.SetString("run-7")
					continue
				}
				fill(field, random)
			default:
				fill(field, random)
				if field.Type() == reflect.TypeFor[string]() && random.IntN(10) == 0 {
					field.SetString(odd)
				}
			}
		}
		if c, ok := reflect.TypeAssert[*analysis.Cell](v.Addr()); ok {
			c.Count += c.Masked + 1
		}
	default:
		panic(fmt.Sprintf("no value for a %s", v.Type()))
	}
}

func filesOf(t *testing.T, body []byte) []*zip.File {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	check(t, err)
	return z.File
}

func contentOf(t *testing.T, body []byte, name string) []byte {
	t.Helper()
	for _, f := range filesOf(t, body) {
		if f.Name == name {
			r, err := f.Open()
			check(t, err)
			content, err := io.ReadAll(r)
			check(t, err)
			return content
		}
	}
	t.Fatalf("no member %s", name)
	return nil
}

type region struct {
	from, to int
	member   string
}

// regionsOf says which bytes are a member's own.
func regionsOf(t *testing.T, body []byte) []region {
	t.Helper()
	var regions []region
	for _, f := range filesOf(t, body) {
		at, err := f.DataOffset()
		check(t, err)
		regions = append(regions, region{int(at), int(at) + int(f.CompressedSize64), f.Name})
	}
	return regions
}

func memberAt(regions []region, at int) string {
	for _, r := range regions {
		if at >= r.from && at < r.to {
			return r.member
		}
	}
	return ""
}

// forge changes members' contents and makes all hashes fit again. The manifest keeps
// its counts of records.
func forge(t *testing.T, body []byte, change func(map[string][]byte)) []byte {
	t.Helper()
	contents := map[string][]byte{}
	order := []string{}
	for _, f := range filesOf(t, body) {
		if f.Name != manifestName {
			contents[f.Name] = contentOf(t, body, f.Name)
			order = append(order, f.Name)
		}
	}
	var manifest Manifest
	check(t, json.Unmarshal(contentOf(t, body, manifestName), &manifest))
	records := map[string]*int{}
	for _, m := range manifest.Members {
		records[m.Name] = m.Records
	}
	change(contents)
	for name := range contents {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	var out bytes.Buffer
	z := newZipper(&out)
	for _, name := range order {
		if content, ok := contents[name]; ok {
			check(t, z.file(name, content))
			z.done[len(z.done)-1].Records = records[name]
		}
	}
	manifest.Inputs = inputsOf(z.done)
	_, err := z.seal(manifest)
	check(t, err)
	return out.Bytes()
}

// bombIn is a bundle whose hashes fit, and in which one member is something else of a
// said size.
func bombIn(t *testing.T, member string, stored []byte, said uint64) []byte {
	t.Helper()
	body := write(t, invented(6))
	var manifest Manifest
	check(t, json.Unmarshal(contentOf(t, body, manifestName), &manifest))
	sum := sha256.Sum256(stored)
	for i := range manifest.Members {
		if m := &manifest.Members[i]; m.Name == member {
			m.Size, m.StoredSize, m.StoredSHA256 = int64(said), int64(len(stored)), hex.EncodeToString(sum[:])
			if m.Records != nil {
				m.Records = new(int)
			}
		}
	}
	manifest.Inputs = inputsOf(manifest.Members)
	listed, err := document(manifest)
	check(t, err)
	var bomb bytes.Buffer
	out := newSealWriter(&bomb)
	z := zip.NewWriter(out)
	for _, f := range filesOf(t, body) {
		content := contentOf(t, body, f.Name)
		h := header(f.Name)
		if f.Name == member {
			h.CompressedSize64, h.UncompressedSize64, content = uint64(len(stored)), said, stored
			w, err := z.CreateRaw(h)
			check(t, err)
			_, err = w.Write(content)
			check(t, err)
			continue
		}
		if f.Name == manifestName {
			content = listed
		}
		w, err := z.CreateHeader(h)
		check(t, err)
		_, err = w.Write(content)
		check(t, err)
	}
	sum = sha256.Sum256(listed)
	check(t, z.SetComment(sealText(hex.EncodeToString(sum[:]))))
	check(t, z.Close())
	check(t, out.close())
	return bomb.Bytes()
}

func emptyZip(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	check(t, zip.NewWriter(&b).Close())
	return b.Bytes()
}

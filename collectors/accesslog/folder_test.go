//go:build unix

package accesslog

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A file that grows after it was read whole is read again, by the Reader that read
// it and by another one, and counted once.
func TestFileThatGrows(t *testing.T) {
	root := t.TempDir()
	sink := &memory{}
	r := newReader(t, "file://"+root, sink)
	for i, reader := range []*Reader{r, r, newReader(t, "file://"+root, sink)} {
		writeObject(t, root, "access.log", []byte(strings.Repeat(logLine{}.String(), i+1)))
		for range 2 { // the second pass has nothing to do
			if err := reader.Collect(t.Context(), testFrom, testTo, nil); err != nil {
				t.Fatal(err)
			}
		}
		b := sink.objects["access.log"]
		if b.Understood != i+1 || sink.adds["access.log"] != i+1 {
			t.Errorf("after writing %d lines: %d understood, stored %d times", i+1, b.Understood, sink.adds["access.log"])
		}
	}
}

// Links are followed, to each file and folder once; what can't be read is a failed
// run that names it, and the rest is read all the same.
func TestFolderWithLinks(t *testing.T) {
	outside, line := t.TempDir(), []byte(logLine{}.String())
	writeObject(t, outside, "folder/b.log", line)
	writeObject(t, outside, "c.log", line)
	link := func(t *testing.T, root, to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		add    func(t *testing.T, root string)
		read   []string
		failed string // what the failed run names
	}{
		{"links", func(t *testing.T, root string) {
			link(t, root, filepath.Join(outside, "folder"), "sub")
			link(t, root, filepath.Join(outside, "folder"), "twice")
			link(t, root, filepath.Join(outside, "c.log"), "c.log")
			link(t, root, "a.log", "0-latest.log")
			link(t, root, ".", "loop")
			link(t, filepath.Join(root, "deep"), "..", "up")
		}, []string{"a.log", "c.log", "deep/d.log", "sub/b.log"}, ""},
		{"link to nothing", func(t *testing.T, root string) { link(t, root, "nothing", "x.log") }, nil, "x.log"},
		{"links in a circle", func(t *testing.T, root string) { link(t, root, "y.log", "x.log"); link(t, root, "x.log", "y.log") }, nil, "x.log"},
		{"named pipe", func(t *testing.T, root string) {
			if err := syscall.Mkfifo(filepath.Join(root, "x.log"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, nil, "named pipe"},
		{"closed file", func(t *testing.T, root string) {
			writeObject(t, root, "x.log", line)
			closed(t, filepath.Join(root, "x.log"))
		}, nil, "x.log"},
		{"closed folder", func(t *testing.T, root string) {
			writeObject(t, root, "x/x.log", line)
			closed(t, filepath.Join(root, "x"))
		}, nil, "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			writeObject(t, root, "a.log", line)
			writeObject(t, root, "deep/d.log", line)
			c.add(t, root)
			sink := &memory{}
			err := newReader(t, "file://"+root, sink, func(c *Config) { c.Parallel = 1 }).Collect(t.Context(), testFrom, testTo, nil)
			var read []string
			for key, b := range sink.objects {
				if b.Error == "" {
					read = append(read, key)
				}
			}
			slices.Sort(read)
			want := c.read
			if want == nil {
				want = []string{"a.log", "deep/d.log"}
			}
			if !slices.Equal(read, want) {
				t.Errorf("read %v, want %v", read, want)
			}
			run := sink.lastRun()
			if c.failed == "" {
				if err != nil || run.Code != "" {
					t.Errorf("%v, run %+v", err, run)
				}
				return
			}
			if err == nil || run.Code == "" || !strings.Contains(run.Error, c.failed) || !run.From.Equal(testFrom) || !run.To.Equal(testTo) {
				t.Errorf("%v, run %+v, want one over all of the span that names %s", err, run, c.failed)
			}
		})
	}
}

// Of a plain file that breaks off nobody knows how far it reached; and nothing is
// counted whose checksum was not seen to be right, where it is not only cut short.
func TestBrokenPlainFiles(t *testing.T) {
	lines := func(from, n int) []byte {
		var b strings.Builder
		for i := range n {
			at := testFrom.Add(time.Duration(from+i) * time.Second).Format("2006-01-02T15:04:05.000000Z")
			b.WriteString(stamped(logLine{path: fmt.Sprintf("/%x", uint32(i)*2654435761)}, at, at))
		}
		return []byte(b.String())
	}
	first, second := compress(lines(0, 50)), compress(lines(50, 400))
	corrupt := slices.Clone(second)
	for i := len(corrupt) / 2; i < len(corrupt)/2+8; i++ {
		corrupt[i] ^= 0xff
	}
	wrongSum := slices.Clone(second)
	wrongSum[len(wrongSum)-8] ^= 1
	for _, c := range []struct {
		name     string
		content  []byte
		least    int // lines that are kept, at least and at most
		most     int
		corrupt  bool
		wantFrom bool
	}{
		{"cut", append(slices.Clone(first), second[:len(second)/2]...), 60, 449, false, true},
		{"corrupt in its second member", append(slices.Clone(first), corrupt...), 50, 50, true, true},
		{"wrong checksum in its second member", append(slices.Clone(first), wrongSum...), 50, 50, true, true},
		{"corrupt", corrupt, 0, 0, true, false},
		{"wrong checksum", wrongSum, 0, 0, true, false},
		{"junk at its end", append(slices.Clone(first), bytes.Repeat([]byte("junk"), 128)...), 50, 50, true, true},
		{"zeros and junk at its end", append(append(slices.Clone(first), make([]byte, 512)...), "junk"...), 50, 50, true, true},
		{"nothing", nil, 0, 0, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			writeObject(t, root, "a.log.gz", c.content)
			sink := &memory{}
			if err := newReader(t, "file://"+root, sink).Collect(t.Context(), testFrom, testTo, nil); err != nil {
				t.Fatal(err)
			}
			b, ok := sink.objects["a.log.gz"]
			if !ok || !b.Partial || b.Understood < c.least || b.Understood > c.most || (b.Error != "") != c.corrupt {
				t.Errorf("object %+v, want it partial with %d to %d lines, corrupt %v", b.Object, c.least, c.most, c.corrupt)
			}
			if !b.To.IsZero() || b.From.IsZero() == c.wantFrom || c.wantFrom && !b.From.Equal(testFrom) {
				t.Errorf("from %v to %v", b.From, b.To)
			}
		})
	}
}

// One absurd time is set aside; it neither counts nor stretches its object.
func TestAbsurdTimes(t *testing.T) {
	name := objectKey("2026-10-14 02:30", "a")
	for _, c := range []struct {
		field, value string
		plain, named bool // understood in a file of any name, and of one that tells its period
	}{
		{"request_creation_time", "0001-01-01T00:00:00.000000Z", false, false},
		{"request_creation_time", "1700-01-01T00:00:00.000000Z", false, false},
		{"request_creation_time", "9999-12-31T23:59:59.999999Z", false, false},
		{"request_creation_time", "2026-08-01T00:00:00.000000Z", true, false},
		{"request_creation_time", "2026-10-12T00:00:00.000000Z", true, true}, // a stream may be open for days
		{"time", "1999-12-31T23:59:59.999999Z", false, false},
		{"time", "2100-01-01T00:00:00.000000Z", false, false},
		{"time", "2026-10-13T02:00:00.000000Z", true, false},
		{"time", "2026-10-15T03:00:00.000000Z", true, false},
		{"time", "2026-10-14T22:00:00.000000Z", true, true},
	} {
		root := t.TempDir()
		end, start := lineEnd, lineStart
		if c.field == "time" {
			end = c.value
		} else {
			start = c.value
		}
		content := []byte(logLine{}.String() + stamped(logLine{}, end, start))
		writeObject(t, root, "plain.log", content)
		writeObject(t, root, name, compress(content))
		sink := &memory{}
		if err := newReader(t, "file://"+root, sink).Collect(t.Context(), testFrom, testTo, nil); err != nil {
			t.Fatal(err)
		}
		for key, understood := range map[string]bool{"plain.log": c.plain, name: c.named} {
			b := sink.objects[key]
			if want := map[bool]int{true: 2, false: 1}[understood]; b.Understood != want {
				t.Errorf("%s %s in %s: %d lines understood, want %d", c.field, c.value, key, b.Understood, want)
			}
			if !understood && (len(b.Lines) != 1 || b.Lines[0].Reason != "time_out_of_range" || b.To.Sub(b.From) > time.Hour) {
				t.Errorf("%s %s in %s: set aside %+v, from %v to %v", c.field, c.value, key, b.Lines, b.From, b.To)
			}
		}
	}
}

// The times of a logLine that says nothing of them.
const lineEnd, lineStart = "2026-10-14T02:30:01.200000Z", "2026-10-14T02:30:01.190000Z"

// stamped is a line with other times.
func stamped(l logLine, end, start string) string {
	return strings.NewReplacer(lineEnd, end, lineStart, start).Replace(l.String())
}

// closed takes away the right to read, until the test ends.
func closed(t *testing.T, name string) {
	t.Helper()
	if os.Geteuid() == 0 {
		t.Skip("nothing is closed to root")
	}
	if err := os.Chmod(name, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(name, 0o700) })
}

// The same object in another folder is a copy: it counts once, also where one of them
// is cut short, and in every later look.
func TestCopyInAnotherFolder(t *testing.T) {
	key := objectKey("2026-10-14 02:25", "abcd1234")
	whole := compress(generate(100))
	copied := "mirror/" + path.Base(key)
	for _, c := range []struct {
		name              string
		original, another []byte
	}{
		{"alike", whole, whole}, {"packed otherwise", whole, append(compress(nil), whole...)},
		{"the copy is cut", whole, whole[:len(whole)/2]}, {"the original is cut", whole[:len(whole)/2], whole},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			writeObject(t, root, key, c.original)
			sink := &memory{}
			now := testTo
			later := func(change *Config) { change.Now = func() time.Time { return now } }
			r := newReader(t, "file://"+root, sink, later)
			collect := func(r *Reader) {
				t.Helper()
				now = now.Add(2 * time.Hour)
				if err := r.Collect(t.Context(), testFrom, testTo, nil); err != nil {
					t.Fatal(err)
				}
			}
			collect(r)
			writeObject(t, root, copied, c.another)
			writeObject(t, root, "mirror/other.log", []byte(logLine{}.String()))
			writeObject(t, root, "other.log", []byte(logLine{}.String())) // any file of such a name
			collect(r)
			collect(newReader(t, "file://"+root, sink, later))
			lines := 0
			for _, o := range sink.objects {
				lines += o.Understood
			}
			if lines != 102 || len(sink.objects) != 3 {
				t.Errorf("%d lines of %v, want 102 of 3 objects", lines, sink.keys())
			}
			if n := sink.adds[key] + sink.adds[copied]; n > 2 {
				t.Errorf("read %d times", n)
			}
		})
	}
}

// An object that was unpacked beside itself counts once, whichever was there first.
func TestUnpackedCopy(t *testing.T) {
	packed := objectKey("2026-10-14 02:25", "abcd1234")
	unpacked := strings.TrimSuffix(packed, ".gz")
	text := generate(100)
	for _, keys := range [][]string{{packed, unpacked}, {unpacked, packed}} {
		root, sink, now := t.TempDir(), &memory{}, testTo
		later := func(change *Config) { change.Now = func() time.Time { return now } }
		for _, key := range keys {
			data := text
			if key == packed {
				data = compress(text)
			}
			writeObject(t, root, key, data)
			for range 2 {
				now = now.Add(2 * time.Hour)
				if err := newReader(t, "file://"+root, sink, later).Collect(t.Context(), testFrom, testTo, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		lines := 0
		for _, o := range sink.objects {
			lines += o.Understood
		}
		if lines != 100 {
			t.Errorf("%v: %d lines of %v, want 100", keys, lines, sink.keys())
		}
	}
}

// A folder's name stands in the URL as it is.
func TestFolderNames(t *testing.T) {
	root, sink := filepath.Join(t.TempDir(), "team#1?a=%20 b"), &memory{}
	writeObject(t, root, objectKey("2026-10-14 02:25", "a"), compress(generate(10)))
	if err := newReader(t, "file://"+root, sink).Collect(t.Context(), testFrom, testTo, nil); err != nil {
		t.Fatal(err)
	}
	if len(sink.objects) != 1 {
		t.Errorf("%d objects", len(sink.objects))
	}
}

// An object lies under the day on which it was delivered, which may be the day after
// the one that it is about; a pass over the past looks there too.
func TestObjectsDeliveredTheDayAfter(t *testing.T) {
	root, sink := t.TempDir(), &memory{}
	key := strings.Replace(objectKey("2026-10-14 02:35", "a"), "/2026/10/14/", "/2026/10/15/", 1)
	if !strings.Contains(key, "/2026/10/15/") {
		t.Fatal(key)
	}
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	if _, err := w.Write([]byte(logLine{}.String())); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	writeObject(t, root, key, text.Bytes())
	if err := newReader(t, "file://"+root, sink).Collect(t.Context(), testFrom, testTo, nil); err != nil {
		t.Fatal(err)
	}
	if len(sink.objects) != 1 {
		t.Errorf("read %v", sink.objects)
	}
	early := func(c *Config) { c.Now = func() time.Time { return testTo } }
	late := &memory{} // the day after has not begun
	if err := newReader(t, "file://"+root, late, early).Collect(t.Context(), testFrom, testTo, nil); err != nil || len(late.objects) != 0 {
		t.Errorf("read %v before it was there, %v", late.objects, err)
	}
}

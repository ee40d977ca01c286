package follow

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// What a rotation does to the files, action by action; and what its log's lines are
// afterwards. The reader's own actions lie between them, wherever they can.
type rotation struct {
	name    string
	actions []func(l *log)
}

// rotations begin with a log of the lines a1 to a4, of which some may have been read.
func rotations() []rotation {
	write := func(text string) func(*log) { return func(l *log) { l.write(text) } }
	part := func(text string) func(*log) {
		return func(l *log) {
			out, err := os.OpenFile(l.dir+"/access.log.1", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			l.check(err)
			_, err = out.WriteString(text)
			l.check(err)
			l.check(out.Close())
		}
	}
	copied := []func(*log){part("a1 aaaa\na2 a"), part("aaa\na3 aaaa\na4 aaaa\n")}
	truncate := func(l *log) { l.truncate() }
	long := write("b1 " + strings.Repeat("b", 200) + "\n")
	return []rotation{
		{"copied, truncated, shorter after it", append(slices.Clone(copied), truncate, write("b1\n"))},
		{"copied, truncated, as long after it", append(slices.Clone(copied), truncate, write("b1 bbbb\nb2 bbbb\nb3 bbbb\n"), write("b4 bbbb\n"))},
		{"copied, truncated, longer after it", append(slices.Clone(copied), truncate, long, write("b2 bb\nb3\n"))},
		{"copied, truncated, copied and truncated", append(slices.Clone(copied), truncate, write("b1 bbbb\nb2 bbbb\n"), func(l *log) { l.copyTruncate("access.log.2") }, write("c1 c\nc2 cc\nc3\n"))},
		{"renamed, and a late line", []func(*log){func(l *log) { l.rename("access.log.1") }, func(l *log) { l.append("access.log.1", "a5 late\n") }, write("b1 bb"), write("bb\nb2\n")}},
		{"renamed and packed", []func(*log){func(l *log) { l.rename("access.log.1") }, write("b1\n"), func(l *log) { l.pack("access.log.1") }, write("b2 bbbbb\n")}},
		{"a line in two halves, then renamed", []func(*log){write("a5 aa"), write("aa\n"), func(l *log) { l.rename("access.log.1") }, write("b1\n")}},
	}
}

// A rotation's actions fall between any two of the reader's, all at one moment or at
// two; before it, nothing of the log was read, or a part, or all; and afterwards
// every line was read, once. Nothing depends on the machine's speed: the reader is
// stopped where it asks the file system for something.
func TestRotationAtEveryMoment(t *testing.T) {
	for _, r := range rotations() {
		for _, before := range []string{"", "a1 aaaa\na2 aaaa\n", "a1 aaaa\na2 aaaa\na3 aaaa\na4 aaaa\n"} {
			t.Run(fmt.Sprintf("%s/%d read", r.name, strings.Count(before, "\n")), func(t *testing.T) {
				runs := 0
				for first := 0; ; first++ {
					reached := false
					for split := range r.actions {
						for _, later := range []int{0, 1, 2, 4, 8, 16} {
							if split == 0 && later > 0 {
								break // that is all of them at one moment, again
							}
							done, wrong := rotateAt(t, r, before, first, first+later, split)
							runs++
							if wrong != "" {
								t.Fatalf("%d actions at the reader's moment %d, the others at %d: %s", split, first, first+later, wrong)
							}
							reached = reached || done
							if !done {
								break
							}
						}
					}
					if !reached {
						break
					}
				}
				t.Logf("%d runs", runs)
			})
		}
	}
}

// rotateAt lets the first actions happen at one moment of the reader's, the others at
// another. It reports whether that moment came during the look, and what is wrong
// with the lines that were read by then and in two more looks.
func rotateAt(t *testing.T, r rotation, before string, first, second, split int) (reached bool, wrong string) {
	l := newLog(t)
	defer l.files.Close()
	all := "a1 aaaa\na2 aaaa\na3 aaaa\na4 aaaa\n"
	var got []string
	if before != "" {
		l.write(before)
		got = l.look()
	}
	l.write(all[len(before):])
	moment, next := 0, 0
	act := func(upTo int) {
		for ; next < upTo; next++ {
			r.actions[next](l)
		}
	}
	l.files.between = func() {
		if moment == first {
			act(split)
		}
		if moment == second {
			act(len(r.actions))
			reached = true
		}
		moment++
	}
	got = append(got, l.look()...)
	l.files.between = nil
	act(len(r.actions))
	got = append(got, l.look()...)
	l.restart()
	got = append(got, l.look()...)
	want := map[string]bool{}
	for path, text := range l.texts() {
		for line := range strings.Lines(text) {
			if want[line] {
				return reached, fmt.Sprintf("%q stands twice, again in %s", line, path)
			}
			want[line] = true
		}
	}
	for _, line := range got {
		if !want[line+"\n"] {
			return reached, fmt.Sprintf("%q was read twice, or never written, of %q", line, got)
		}
		delete(want, line+"\n")
	}
	if len(want) > 0 {
		return reached, fmt.Sprintf("%q were not read, but %q", slices.Sorted(maps.Keys(want)), got)
	}
	return reached, ""
}

// texts are the files as they are, unpacked.
func (l *log) texts() map[string]string {
	texts := map[string]string{}
	paths, err := Paths(l.dir + "/access.log*")
	l.check(err)
	for _, path := range paths {
		f, err := os.Open(path)
		l.check(err)
		text, err := unpacked(f)
		l.check(err)
		l.check(f.Close())
		texts[path] = text
	}
	return texts
}

func unpacked(f *os.File) (string, error) {
	var content io.Reader = f
	packed, err := isPacked(f)
	if err == nil && packed {
		content, err = gzip.NewReader(f)
	}
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(content)
	return string(text), err
}

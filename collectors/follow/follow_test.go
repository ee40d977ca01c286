package follow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

// What happens to a log while it is followed, one step after another; after each the
// lines that are new come once, and a restart changes nothing.
func TestWhatHappensToLogs(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %v", restart), func(t *testing.T) {
			l := newLog(t)
			step := func(what string, want ...string) {
				t.Helper()
				if restart {
					l.restart()
				}
				got := l.look()
				if strings.Join(got, ",") != strings.Join(want, ",") {
					t.Errorf("%s: %q, want %q", what, got, want)
				}
			}
			l.write("a1\na2\n")
			step("first sight", "a1", "a2")
			step("nothing new")
			l.write("a3\na4 half")
			step("a line without its end", "a3")
			l.write(" whole\n")
			step("its end", "a4 half whole")
			l.rename("access.log.1")
			l.append("access.log.1", "a5\n")
			l.write("b1\n")
			step("renamed and created, with a late line", "a5", "b1")
			l.append("access.log.1", "a6\n")
			l.write("b2\n")
			l.pack("access.log.1")
			step("packed, with a line that only the packed file has", "a6", "b2")
			step("packed and known")
			l.write("b3\n")
			l.copyTruncate("access.log.2")
			l.write("c1\n")
			step("copied and truncated, with a line that only the copy has", "b3", "c1")
			l.truncate()
			l.write("d1\nd2\nd3\n")
			step("truncated, and longer than before", "d1", "d2", "d3")
			l.rename("access.log.3")
			step("gone for a moment")
			l.write("e1\n")
			l.rename("access.log.4")
			l.write("f1\n")
			step("rotated twice between two looks", "e1", "f1")
			l.write("f2\n")
			l.copy("access.log.5")
			l.write("f3\n")
			step("a copy that ends before the log", "f2", "f3")
			l.file("access.log.6", []byte("f1\nf2\n"))
			l.file("access.log.7", []byte("f1\n"))
			step("copies that were slower than we")
		})
	}
}

// Two logs whose first lines are the same are told apart by what follows.
func TestLogsThatBeginAlike(t *testing.T) {
	l := newLog(t)
	l.write("same\na1\na2\n")
	l.expect("same", "a1", "a2")
	l.rename("access.log.1")
	l.write("same\nb1\nb2\n")
	l.restart()
	l.expect("same", "b1", "b2")
	l.append("access.log.1", "a3\n")
	l.write("b3\n")
	l.restart()
	l.expect("a3", "b3")
}

// A shorter log with the first line of a longer one is read, once it is no copy that is
// under way: at once where nobody writes to it, or when it is longer.
func TestShorterLogThatBeginsAlike(t *testing.T) {
	l := newLog(t)
	old := time.Now().Add(-time.Hour)
	l.write("same\na1\na2\na3\n")
	l.file("access.log.8", []byte("same\nb1\n"))
	l.check(os.Chtimes(filepath.Join(l.dir, "access.log"), old, old))
	l.check(os.Chtimes(filepath.Join(l.dir, "access.log.8"), old.Add(time.Second), old.Add(time.Second)))
	l.expect("same", "a1", "a2", "a3", "same", "b1")
	l.restart()
	l.expect()
	l.rename("access.log.1")
	l.write("same\n")
	l.expect()
	l.write("d1 is longer than all of these\n")
	l.expect("same", "d1 is longer than all of these")
}

// A file whose content never is what was measured was not read, and that is told, also
// of one that went out of sight.
func TestFileThatNeverVerifies(t *testing.T) {
	l := newLog(t)
	half := func(part *Stretch) error {
		_, err := part.Reader.Read(make([]byte, 2))
		return errors.Join(err, part.Verify())
	}
	fails := func(what string) {
		t.Helper()
		if err := l.files.Look(t.Context(), time.Now(), l.since, half); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", what, err)
		}
	}
	l.write("a1\na2\n")
	l.file("access.log.9", []byte("b1\nb2\n"))
	fails("first look")
	fails("second look")
	l.expect("b1", "b2", "a1", "a2")
	l.append("access.log.9", "b3\n")
	l.check(os.Rename(filepath.Join(l.dir, "access.log.9"), filepath.Join(l.dir, "old")))
	fails("out of sight")
	fails("still out of sight")
	l.expect("b3")
}

// A file that leaves the pattern is read to its end as long as it is open.
func TestFileOutOfSight(t *testing.T) {
	l := newLog(t)
	l.write("a1\n")
	l.expect("a1")
	l.rename("old")
	l.append("old", "a2\n")
	l.write("b1\n")
	l.expect("a2", "b1")
	l.append("old", "a3\n")
	if err := os.Remove(filepath.Join(l.dir, "old")); err != nil {
		t.Fatal(err)
	}
	l.expect("a3")
}

// However long nobody wrote to a file, what is added to it just before or after it goes
// out of sight is read; and it is let go once that is long ago.
func TestQuietFileOutOfSight(t *testing.T) {
	l := newLog(t)
	quiet := func(name string) {
		at := time.Now().Add(-20 * time.Minute)
		l.check(os.Chtimes(filepath.Join(l.dir, name), at, at))
	}
	l.write("a1\n")
	quiet("access.log")
	l.expect("a1")
	l.write("a2\n")
	l.rename("old-1")
	l.write("b1\n")
	l.expect("a2", "b1")
	quiet("access.log")
	l.expect()
	l.rename("old-2")
	l.expect()
	l.append("old-2", "b2\n")
	l.expect("b2")

	// One that was too old to be read is read once something is added.
	l.write("c1\n")
	quiet("access.log")
	l.since = time.Now().Add(-10 * time.Minute)
	l.expect()
	l.write("c2\n")
	l.rename("old-3")
	l.expect("c1", "c2")

	l.now = time.Now().Add(2 * linger)
	l.expect()
	if len(l.files.held) > 0 {
		t.Errorf("%d files are held that went out of sight long ago", len(l.files.held))
	}
}

// What could not be stored when a file went out of sight is read again.
func TestFileOutOfSightIsReadAgain(t *testing.T) {
	l := newLog(t)
	l.write("a1\n")
	l.dies = true
	l.expect()
	l.rename("old")
	l.expect()
	l.append("old", "a2\n")
	l.expect()
	l.dies = false
	l.expect("a1", "a2")
	l.expect()
}

// The number of files that are held open has a bound.
func TestHeldFilesAreBounded(t *testing.T) {
	l := newLog(t)
	for i := range 2 * holdMost {
		l.file(fmt.Sprintf("access.log.%d", i), fmt.Appendf(nil, "%d\n", i))
	}
	l.file("access.log.gz", pack(t, []byte("packed\n")))
	if got := l.look(); len(got) != 2*holdMost+1 || len(l.files.held) != holdMost {
		t.Errorf("%d lines, %d files held", len(got), len(l.files.held))
	}
}

// A line that is written in two parts is one line, however long the pause, until the
// end of its file can be waited for no longer.
func TestHalfALine(t *testing.T) {
	l := newLog(t)
	begin := time.Now()
	l.now = begin
	l.write("a1\na2 ha")
	l.expect("a1")
	l.now = begin.Add(14 * time.Second)
	l.expect()
	l.write("lf\n")
	l.expect("a2 half")

	// Rotated away before the rest of it came.
	l.write("a3 ha")
	l.expect()
	l.rename("old")
	l.now = begin.Add(time.Minute)
	l.expect()
	l.append("old", "lf\na4 never")
	l.expect("a3 half")
	l.now = begin.Add(linger + time.Minute - time.Second)
	l.expect()
	l.now = begin.Add(linger + time.Minute + time.Second)
	l.expect("a4 never")
	l.expect()
}

// A last line whose end never came counts once nobody writes any more; so does a
// packed file that breaks off, which is told.
func TestEndsThatNeverCome(t *testing.T) {
	l := newLog(t)
	l.write("a1\na2 torn")
	l.expect("a1")
	l.now = time.Now().Add(still - time.Minute)
	l.expect()
	l.now = time.Now().Add(still + time.Minute)
	l.expect("a2 torn")
	l.expect()

	var text []byte
	for i := range 1000 {
		text = fmt.Appendf(text, "b%d %x\n", i, sum([]byte{byte(i), byte(i >> 8)}, 30))
	}
	packed := pack(t, text)
	l.file("access.log.1.gz", packed[:len(packed)/2])
	l.now = time.Now()
	l.expect()
	l.now = l.now.Add(time.Minute)
	l.expect()
	if len(l.cut) < 100 || len(l.cut) > 900 || l.broken != 1 {
		t.Errorf("%d lines of the cut file, told %d times that it is cut", len(l.cut), l.broken)
	}
	for i, line := range l.cut {
		if !strings.HasPrefix(line, fmt.Sprintf("b%d ", i)) || len(line) < 60 {
			t.Fatalf("line %d is %q", i, line)
		}
	}
	l.expect()
	l.file("access.log.1.gz", packed)
	l.now = time.Now()
	if all := l.look(); len(all) != 1000 || l.broken != 1 {
		t.Errorf("%d lines of the whole file, told %d times that it is cut", len(all), l.broken)
	}
}

func TestOldAndUnreadableFiles(t *testing.T) {
	l := newLog(t)
	l.file("access.log.2", []byte("a1\n"))
	l.file("access.log.3.xz", []byte("x"))
	old := time.Now().Add(-24 * time.Hour)
	for _, name := range []string{"access.log.2", "access.log.3.xz"} {
		if err := os.Chtimes(filepath.Join(l.dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	l.since = time.Now().Add(-time.Hour)
	l.write("b1\n")
	l.expect("b1")
	l.since = old.Add(-time.Hour)
	if err := l.files.Look(t.Context(), time.Now(), l.since, l.take); err == nil || !strings.Contains(err.Error(), "only gzip") {
		t.Errorf("%v", err)
	}
	if got := l.drain(); strings.Join(got, ",") != "a1" {
		t.Errorf("%q", got)
	}
	if err := New(filepath.Join(l.dir, "nothing*"), still, timeOf).Look(t.Context(), time.Now(), time.Time{}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// Lines of any length, in stretches of any length: a file of some megabytes with one
// line over the limit of a stretch.
func TestLongLines(t *testing.T) {
	l := newLog(t)
	long := strings.Repeat("x", limit+1000)
	l.write("a1\n" + long + "\na3\n")
	got := l.look()
	if len(got) != 3 || got[0] != "a1" || got[1] != long || got[2] != "a3" || len(l.keys) < 2 {
		t.Errorf("%d lines in %d stretches", len(got), len(l.keys))
	}
}

// The log rotates a thousand times, in every way, while it is written to and followed,
// and the follower dies and starts again all the while. Nothing is lost or repeated.
func TestThousandRotations(t *testing.T) {
	const rotations = 1000
	l := newLog(t)
	written := make(chan int)
	go func() {
		defer close(written)
		random := rand.New(rand.NewPCG(7, 8))
		line, packed := 0, ""
		for n := range rotations {
			for range 1 + random.IntN(20) {
				text := fmt.Sprintf("%d %s\n", line, strings.Repeat("y", random.IntN(200)))
				line++
				if random.IntN(3) == 0 {
					time.Sleep(100 * time.Microsecond)
				}
				if random.IntN(4) > 0 {
					l.write(text)
					continue
				}
				half := random.IntN(len(text))
				l.write(text[:half])
				l.write(text[half:])
			}
			name := fmt.Sprintf("access.log.%d", n)
			switch n % 3 {
			case 0:
				l.rename(name)
				late := fmt.Sprintf("%d late\n", line)
				line++
				l.append(name, late)
			case 1:
				l.copyTruncate(name)
			case 2:
				l.rename(name)
				if packed != "" {
					l.pack(packed)
				}
				packed = name
			}
		}
		written <- line
	}()
	random := rand.New(rand.NewPCG(9, 10))
	seen := map[string]int{}
	count := func(lines []string) {
		for _, line := range lines {
			number, _, _ := strings.Cut(line, " ")
			seen[number]++
		}
	}
	total, looks := 0, 0
	for total == 0 {
		select {
		case total = <-written:
		default:
		}
		if random.IntN(10) == 0 {
			l.restart()
		}
		l.dies = random.IntN(10) == 0
		count(l.look())
		looks++
	}
	l.dies = false
	l.restart()
	count(l.look())
	lost, repeated := 0, 0
	for i := range total {
		switch n := seen[fmt.Sprint(i)]; {
		case n == 0:
			lost++
		case n > 1:
			repeated++
		}
	}
	if lost+repeated > 0 || len(seen) != total {
		t.Errorf("of %d lines %d are lost and %d repeated; %d were seen", total, lost, repeated, len(seen))
	}
	t.Logf("%d lines, %d looks, %d stretches", total, looks, len(l.keys))
}

// log is a log that is written, rotated and followed.
type log struct {
	t          *testing.T
	dir        string
	files      *Files
	now, since time.Time // now is zero for the present
	lines      []string
	keys       map[string]time.Time // with the times of their last lines
	broken     int                  // how often a stretch broke off
	cut        []string             // the lines of those
	dies       bool                 // a stretch is read and then not stored
	out        *os.File
}

func newLog(t *testing.T) *log {
	l := &log{t: t, dir: t.TempDir(), keys: map[string]time.Time{}}
	l.restart()
	t.Cleanup(func() {
		l.files.Close()
		if l.out != nil {
			_ = l.out.Close()
		}
	})
	return l
}

func (l *log) restart() {
	if l.files != nil {
		l.files.Close()
	}
	l.files = New(filepath.Join(l.dir, "access.log*"), still, timeOf)
	for key, last := range l.keys {
		l.files.Restore(key, last)
	}
}

// timeOf is the time of a line like "@7 text", in seconds since 1970.
func timeOf(line []byte) time.Time {
	var s int64
	if _, err := fmt.Sscanf(string(line), "@%d ", &s); err != nil {
		return time.Time{}
	}
	return time.Unix(s, 0)
}

// still is how long the ends of lines are waited for.
const still = 15 * time.Minute

var errDied = errors.New("the follower died")

func (l *log) take(part *Stretch) error {
	text, err := io.ReadAll(part.Reader)
	if err != nil {
		return err
	}
	if err := part.Verify(); err != nil {
		return err
	}
	if l.dies {
		return errDied
	}
	if part.Broken != nil {
		l.broken++
		l.cut = slices.AppendSeq(l.cut, strings.Lines(string(text)))
		return nil
	}
	if _, known := l.keys[part.Key()]; known {
		l.t.Errorf("%s came twice", part.Key())
	}
	for line := range bytes.Lines(text) {
		l.keys[part.Key()] = timeOf(line)
		l.lines = append(l.lines, strings.TrimSuffix(string(line), "\n"))
	}
	return nil
}

func (l *log) look() []string {
	now := l.now
	if now.IsZero() {
		now = time.Now()
	}
	err := l.files.Look(context.Background(), now, l.since, l.take)
	if err != nil && !errors.Is(err, errDied) && !errors.Is(err, os.ErrNotExist) {
		l.t.Errorf("look: %v", err)
	}
	return l.drain()
}

func (l *log) drain() []string {
	lines := l.lines
	l.lines = nil
	return lines
}

func (l *log) expect(want ...string) {
	l.t.Helper()
	if got := l.look(); strings.Join(got, ",") != strings.Join(want, ",") {
		l.t.Errorf("%q, want %q", got, want)
	}
}

func (l *log) check(err error) {
	if err != nil {
		l.t.Errorf("%v", err)
	}
}

// write appends to the log as its writer does: by a handle that goes with the file.
func (l *log) write(text string) {
	if l.out == nil {
		out, err := os.OpenFile(filepath.Join(l.dir, "access.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		l.check(err)
		l.out = out
	}
	_, err := l.out.WriteString(text)
	l.check(err)
}

func (l *log) append(name, text string) {
	out, err := os.OpenFile(filepath.Join(l.dir, name), os.O_APPEND|os.O_WRONLY, 0o600)
	l.check(err)
	_, err = out.WriteString(text)
	l.check(err)
	l.check(out.Close())
}

// rename moves the log away; the next line goes to a new one.
func (l *log) rename(name string) {
	l.check(os.Rename(filepath.Join(l.dir, "access.log"), filepath.Join(l.dir, name)))
	l.check(l.out.Close())
	l.out = nil
}

// copy copies the log in pieces.
func (l *log) copy(name string) {
	text, err := os.ReadFile(filepath.Join(l.dir, "access.log"))
	l.check(err)
	out, err := os.Create(filepath.Join(l.dir, name))
	l.check(err)
	for len(text) > 0 {
		n := min(len(text), 500)
		_, err := out.Write(text[:n])
		l.check(err)
		text = text[n:]
	}
	l.check(out.Close())
}

func (l *log) truncate() { l.check(os.Truncate(filepath.Join(l.dir, "access.log"), 0)) }

func (l *log) copyTruncate(name string) {
	l.copy(name)
	l.truncate()
}

// pack does what gzip does: the packed file takes the time of the one that it replaces.
func (l *log) pack(name string) {
	path := filepath.Join(l.dir, name)
	text, err := os.ReadFile(path)
	l.check(err)
	info, err := os.Stat(path)
	l.check(err)
	out, err := os.Create(path + ".gz")
	l.check(err)
	packed := pack(l.t, text)
	_, err = out.Write(packed[:len(packed)/2])
	l.check(err)
	_, err = out.Write(packed[len(packed)/2:])
	l.check(err)
	l.check(out.Close())
	l.check(os.Chtimes(path+".gz", info.ModTime(), info.ModTime()))
	l.check(os.Remove(path))
}

func (l *log) file(name string, content []byte) {
	l.check(os.WriteFile(filepath.Join(l.dir, name), content, 0o600))
}

func pack(t *testing.T, text []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(text); err != nil {
		t.Error(err)
	}
	if err := z.Close(); err != nil {
		t.Error(err)
	}
	return b.Bytes()
}

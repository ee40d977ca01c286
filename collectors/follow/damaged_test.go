package follow

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Of a packed file that is damaged all is read that is to be trusted, and told that it is
// damaged; and the files beside it are read in any case.
func TestDamagedPackedFiles(t *testing.T) {
	var text []byte
	for i := range 300 {
		text = fmt.Appendf(text, "@%d old %x\n", i, sum([]byte{byte(i), byte(i >> 8)}, 30))
	}
	packed := pack(t, text)
	spoiled := bytes.Clone(packed)
	spoiled[len(spoiled)-6] ^= 1
	second := pack(t, []byte("@400 late\n@401 half "))
	for name, c := range map[string]struct {
		file   []byte
		lines  int           // of it
		unread time.Duration // since 1970; 0: nothing but what breaks off
	}{
		"without its last byte":        {packed[:len(packed)-1], 300, 0},
		"without half of its trailer":  {packed[:len(packed)-4], 300, 0},
		"without its trailer":          {packed[:len(packed)-8], 300, 0},
		"without its last bits":        {packed[:len(packed)-9], 300, 0},
		"with a wrong checksum":        {spoiled, 0, 0},
		"with something behind it":     {append(bytes.Clone(packed), "garbage"...), 300, 0},
		"whole, and then a wrong one":  {append(bytes.Clone(packed), spoiled...), 300, 0},
		"a line over two, one corrupt": {append(bytes.Clone(second), spoiled...), 1, 0},
		"of which the header is there": {packed[:5], 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLog(t)
			l.file("access.log.1.gz", c.file)
			l.age("access.log.1.gz", time.Minute)
			l.write("live 1\nlive 2\n")
			l.expect("live 1", "live 2")
			if len(l.cut) != c.lines || (l.broken == 1) != (c.lines > 0) {
				t.Errorf("%d lines of the damaged file, told %d times", len(l.cut), l.broken)
			}
			rest := l.unread("access.log.1.gz")
			if (rest != nil) != (c.lines == 0) {
				t.Errorf("unread: %+v", rest)
			}
			l.write("live 3\n")
			l.expect("live 3")

			// Whole again, it is read from its start.
			l.file("access.log.1.gz", packed)
			l.restart()
			if got := l.look(); len(got) != 300 || l.unread("access.log.1.gz") != nil {
				t.Errorf("%d lines of the whole file; unread %+v", len(got), l.unread("access.log.1.gz"))
			}
			l.restart()
			l.expect()
		})
	}
}

// A cut file whose whole lines were all read from another one is known to be cut, and
// since when lines may be missing.
func TestCutBehindWhatWasRead(t *testing.T) {
	l := newLog(t)
	text := "@1 a\n@2 b\n@3 c\n"
	l.write(text)
	l.expect("@1 a", "@2 b", "@3 c")
	l.rename("access.log.1")
	l.check(os.Remove(filepath.Join(l.dir, "access.log.1")))
	packed := pack(t, []byte(text))
	l.file("access.log.1.gz", packed[:len(packed)-1])
	l.age("access.log.1.gz", time.Minute)
	for range 2 {
		l.expect()
		if rest := l.unread("access.log.1.gz"); rest == nil || !rest.Final || rest.Since.Unix() != 3 {
			t.Errorf("unread: %+v", rest)
		}
	}
	l.file("access.log.1.gz", packed)
	l.expect()
	if rest, ok := l.files.Unread()[filepath.Join(l.dir, "access.log.1.gz")]; !ok || rest != nil {
		t.Errorf("unread: %+v, %v", rest, ok)
	}
}

// An empty file that was packed is whole.
func TestEmptyPackedFile(t *testing.T) {
	l := newLog(t)
	l.file("access.log.1.gz", pack(t, nil))
	l.file("access.log", nil)
	l.age("access.log.1.gz", time.Hour)
	l.expect()
	if l.unread("access.log.1.gz") != nil || l.unread("access.log") != nil {
		t.Errorf("unread: %+v", l.files.Unread())
	}
}

// What is not read yet is told, with the time since when lines may be missing, until it
// is read.
func TestUnread(t *testing.T) {
	l := newLog(t)
	l.now = time.Now()
	tells := func(name string, since int64, final bool) {
		t.Helper()
		if rest := l.unread(name); rest == nil || rest.Since.Unix() != since || rest.Final != final {
			t.Errorf("%s: unread %+v, want since %d", name, rest, since)
		}
	}
	l.write("@10 a\n@11 b\n@12 ha")
	l.expect("@10 a", "@11 b")
	tells("access.log", 11, false)
	l.expect()
	tells("access.log", 11, false)
	l.write("lf\n")
	l.expect("@12 half")
	if rest := l.unread("access.log"); rest != nil {
		t.Errorf("unread: %+v", rest)
	}

	// A cut file whose time is still to come counts as final once it has not changed for
	// long enough.
	packed := pack(t, []byte("@1 a\n@2 b\n"))
	l.file("access.log.1.gz", packed[:len(packed)-1])
	l.age("access.log.1.gz", -24*time.Hour)
	l.expect()
	tells("access.log.1.gz", 1, false)
	l.now = l.now.Add(calm - time.Second)
	l.expect()
	tells("access.log.1.gz", 1, false)
	l.now = l.now.Add(2 * time.Second)
	l.expect()
	if len(l.cut) != 2 || l.broken != 1 || l.unread("access.log.1.gz") != nil {
		t.Errorf("%d lines, told %d times, unread %+v", len(l.cut), l.broken, l.unread("access.log.1.gz"))
	}
	l.expect()
}

// What of a file out of sight is not read is told until it is read, or the file is let go.
func TestUnreadOutOfSight(t *testing.T) {
	l := newLog(t)
	l.now = time.Now()
	path := filepath.Join(l.dir, "access.log")
	l.write("@10 a\n@11 ha")
	l.expect("@10 a")
	l.rename("old")
	l.look()
	if rest := l.files.Unread()[path]; rest == nil || rest.Since.Unix() != 10 {
		t.Errorf("unread: %+v", rest)
	}
	l.append("old", "lf\n")
	if got := l.look(); !slices.Equal(got, []string{"@11 half"}) {
		t.Errorf("%q", got)
	}
	if rest, ok := l.files.Unread()[path]; rest != nil || !ok {
		t.Errorf("unread: %+v, %v", rest, ok)
	}
}

// A file that is gone before it was read is told of once more; one that is there under
// another name is not gone.
func TestUnreadThatVanishes(t *testing.T) {
	l := newLog(t)
	l.now = time.Now()
	packed := pack(t, []byte("@1 a\n@2 b\n"))
	l.file("access.log.1.gz", packed[:len(packed)-1])
	l.file("access.log.2.gz", pack(t, []byte("@3 c\n"))[:20])
	l.expect()
	l.check(os.Remove(filepath.Join(l.dir, "access.log.1.gz")))
	l.check(os.Rename(filepath.Join(l.dir, "access.log.2.gz"), filepath.Join(l.dir, "access.log.3.gz")))
	l.expect()
	if rest := l.unread("access.log.1.gz"); rest == nil || rest.Since.Unix() != 1 || !rest.Until.Equal(l.now) {
		t.Errorf("gone: unread %+v", rest)
	}
	if rest, ok := l.files.Unread()[filepath.Join(l.dir, "access.log.2.gz")]; rest != nil || !ok || l.unread("access.log.3.gz") == nil {
		t.Errorf("renamed: unread %+v", l.files.Unread())
	}
	l.expect()
	if n := len(l.files.Unread()); n != 1 {
		t.Errorf("unread: %+v", l.files.Unread())
	}
}

// A file whose first line is younger than the file is not passed over for its age.
func TestAgeThatIsWrong(t *testing.T) {
	l := newLog(t)
	now := time.Now()
	l.since = now.Add(-time.Hour)
	line := fmt.Sprintf("@%d a", now.Add(-30*time.Minute).Unix())
	l.file("access.log.1.gz", pack(t, []byte(line+"\n")))
	l.file("access.log.2", []byte("@100000000 long ago\n"))
	l.age("access.log.1.gz", 100*24*time.Hour)
	l.age("access.log.2", 100*24*time.Hour)
	l.expect(line)
}

// Logs that begin alike and are there at the same time are two, from the first line on,
// also the shorter one, and also where they were the same for some time.
func TestTwins(t *testing.T) {
	l := newLog(t)
	l.file("access.log.shop", []byte("@1 probe\n@2 shop\n@3 shop\n@4 shop\n"))
	l.file("access.log.api", []byte("@1 probe\n@3 api\n"))
	l.expectAny("@1 probe", "@2 shop", "@3 shop", "@4 shop", "@1 probe", "@3 api")
	l.append("access.log.api", "@5 api\n")
	l.append("access.log.shop", "@6 shop\n")
	l.expectAny("@5 api", "@6 shop")
	l.restart()
	l.append("access.log.api", "@7 api\n")
	l.append("access.log.shop", "@8 shop\n")
	l.expectAny("@7 api", "@8 shop")
}

func TestTwinsThatDiffer(t *testing.T) {
	for _, restart := range []bool{false, true} {
		l := newLog(t)
		again := func() {
			if restart {
				l.restart()
			}
		}
		same := strings.Repeat("@1 probe\n", 100)
		l.file("access.log.api", []byte(same))
		l.file("access.log.shop", []byte(same))
		if got := l.look(); len(got) != 100 { // nobody can tell
			t.Errorf("%d lines", len(got))
		}
		again()
		l.append("access.log.api", "@2 api\n")
		l.append("access.log.shop", "@3 shop\n@4 shop\n")
		if got := l.look(); len(got) != 103 {
			t.Errorf("restart %v: %d lines", restart, len(got))
		}
		again()
		l.append("access.log.shop", "@5 shop\n")
		l.append("access.log.api", "@6 api\n@7 api\n@8 api\n")
		l.expectAny("@5 shop", "@6 api", "@7 api", "@8 api")
	}
}

// Two files that are the same count once, and while both grow nobody can say that they
// are copies. A copy that does not grow is one.
func TestTwinsThatAreTheSame(t *testing.T) {
	l := newLog(t)
	l.now = time.Now()
	l.write("@1 a\n")
	l.copy("access.log.2")
	l.expect("@1 a")
	unread := func() (n int) {
		for _, rest := range l.files.Unread() {
			if rest != nil {
				n++
			}
		}
		return n
	}
	if unread() != 0 {
		t.Errorf("a copy is unread: %+v", l.files.Unread())
	}
	l.write("@2 a\n")
	l.append("access.log.2", "@2 a\n")
	l.expect("@2 a")
	if unread() != 1 {
		t.Errorf("twins: %+v", l.files.Unread())
	}
	l.now = l.now.Add(calm + time.Minute)
	l.expect()
	if unread() != 0 {
		t.Errorf("a copy that grows no more is unread: %+v", l.files.Unread())
	}
}

// A copy under way holds nothing new, however far it is, and is no text of its own.
func TestCopyUnderWay(t *testing.T) {
	l := newLog(t)
	l.write("@1 a\n@2 b\n@3 c\n")
	l.expect("@1 a", "@2 b", "@3 c")
	for _, part := range []string{"@1", " a\n@2 b", "\n@3 ", "c\n"} {
		out, err := os.OpenFile(filepath.Join(l.dir, "access.log.2"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		l.check(err)
		_, err = out.WriteString(part)
		l.check(err)
		l.check(out.Close())
		l.expect()
		if rest := l.unread("access.log.2"); rest != nil && part != "@1" {
			t.Errorf("after %q: unread %+v", part, rest)
		}
	}
	l.truncate()
	l.write("@4 d\n")
	l.expect("@4 d")
	if rest := l.unread("access.log.2"); rest != nil {
		t.Errorf("unread: %+v", rest)
	}
}

// A short file that may be the begin of one that was read, and is not there any more, is
// not read, and that is told; it is read once it is another one.
func TestCopyOfWhatIsGone(t *testing.T) {
	l := newLog(t)
	l.write("@1 a\n@2 b\n@3 c\n")
	l.expect("@1 a", "@2 b", "@3 c")
	l.check(os.Remove(filepath.Join(l.dir, "access.log")))
	l.file("access.log.2", []byte("@1 a\n@2 b\n"))
	l.age("access.log.2", time.Hour)
	l.restart()
	l.expect()
	if rest := l.unread("access.log.2"); rest == nil || rest.Since.Unix() != 1 || !rest.Final {
		t.Errorf("unread: %+v", rest)
	}
	l.append("access.log.2", "@3 another\n")
	l.expect("@1 a", "@2 b", "@3 another")

	// Or once the other one is there again.
	l.file("access.log.3", []byte("@1 a\n"))
	l.age("access.log.3", time.Hour)
	l.restart()
	l.check(os.Remove(filepath.Join(l.dir, "access.log.2")))
	l.expect()
	if rest := l.unread("access.log.3"); rest == nil {
		t.Error("nothing is unread of what may be a copy")
	}
	l.file("access.log.4", []byte("@1 a\n@2 b\n@3 c\n"))
	l.expect()
	l.expect()
	if rest := l.unread("access.log.3"); rest != nil {
		t.Errorf("unread: %+v", rest)
	}
}

// The shorter of two logs that begin alike is read also where it is looked at first.
func TestTwinThatIsOlder(t *testing.T) {
	l := newLog(t)
	l.file("access.log.shop", []byte("@1 probe\n@2 shop\n@3 shop\n"))
	l.expect("@1 probe", "@2 shop", "@3 shop")
	l.file("access.log.api", []byte("@1 probe\n@3 api\n"))
	l.age("access.log.api", time.Hour)
	l.restart()
	l.expect("@1 probe", "@3 api")
	if rest := l.unread("access.log.api"); rest != nil {
		t.Errorf("unread: %+v", rest)
	}
}

// What was read of a cut file gives way to a whole one, and is read again as far as that
// does not reach.
func TestCutFileBesideAShorterOne(t *testing.T) {
	l := newLog(t)
	packed := pack(t, []byte("@1 a\n@2 b\n@3 c\n"))
	l.file("access.log.1.gz", packed[:len(packed)-1])
	l.age("access.log.1.gz", time.Minute)
	l.expect()
	l.write("@1 a\n")
	l.expect("@1 a")
	l.expect()
	if got := strings.Join(l.cut, ""); got != "@1 a\n@2 b\n@3 c\n@2 b\n@3 c\n" || l.broken != 2 {
		t.Errorf("of the cut file %q, in %d stretches", got, l.broken)
	}
}

// What was read is known whatever the order in which it is told, and telling so takes no
// longer for that.
func TestRestoreInAnyOrder(t *testing.T) {
	l := newLog(t)
	l.write("@1 a\n@2 b\n@3 c\n")
	l.expect("@1 a", "@2 b", "@3 c")
	var head string
	for key := range l.keys {
		head, _, _ = strings.Cut(key, "@")
	}
	l.restart()
	const many = 300_000
	for i := many; i > 0; i-- {
		l.files.Restore(formatKey("/a", head, 0, int64(100+i), "x"), time.Time{})
		l.files.Restore(formatKey("/a", head+"~2", 0, int64(100+i), "x"), time.Time{})
	}
	l.expect()
	for _, s := range l.files.streams[head] {
		if !slices.IsSortedFunc(s.ends, func(a, b boundary) int { return int(a.at - b.at) }) || len(s.ends) < many {
			t.Errorf("%s has %d ends", s.id, len(s.ends))
		}
	}
}

// age lets a file be of a time ago.
func (l *log) age(name string, ago time.Duration) {
	at := time.Now().Add(-ago)
	l.check(os.Chtimes(filepath.Join(l.dir, name), at, at))
}

// unread is what was not read of a file.
func (l *log) unread(name string) *Unread { return l.files.Unread()[filepath.Join(l.dir, name)] }

// expectAny is expect in any order.
func (l *log) expectAny(want ...string) {
	l.t.Helper()
	if got := l.look(); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		l.t.Errorf("%q, want %q", got, want)
	}
}

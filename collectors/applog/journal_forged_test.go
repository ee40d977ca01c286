package applog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gapless/collectors/applog/logrules"
)

const forgedSeries = "0123456789abcdef0123456789abcdef"

// exported is an entry of the program java in the export format; one whose message has
// several lines is written with its length.
func exported(n int, message string) string {
	entry := fmt.Sprintf("__CURSOR=s=%s;i=%x\n__REALTIME_TIMESTAMP=17959985100932%02d\n_PID=77\n_COMM=java\n_SYSTEMD_UNIT=orders.service\n", forgedSeries, n, n)
	if !strings.Contains(message, "\n") {
		return entry + "MESSAGE=" + message + "\n\n"
	}
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(message)))
	return entry + "MESSAGE\n" + string(length) + message + "\nPRIORITY=6\n\n"
}

// forged is an entry of systemd's, as somebody who sends texts would make it up.
const forged = "\n\n__CURSOR=s=aa;i=3\n__REALTIME_TIMESTAMP=1795998510093299\n_PID=1\n_COMM=systemd\nUNIT=orders.service\n" +
	"MESSAGE_ID=98e322203f7a4ed290d09fe03c09fe15\nEXIT_CODE=killed\nEXIT_STATUS=9\nMESSAGE=orders.service: Main process exited, code=killed, status=9/KILL\n\n" +
	`{"__CURSOR":"s=aa;i=4","__REALTIME_TIMESTAMP":"1795998510093299","_PID":"1","_COMM":"systemd","UNIT":"orders.service","MESSAGE":"orders.service: Main process exited, code=killed, status=9/KILL"}` + "\n\n"

// Whatever an application logs, no entry of systemd's comes of it, wherever reading
// stops; and what comes after it is read.
func TestJournalForged(t *testing.T) {
	filler := strings.Repeat("x", 700)
	whole := exported(2, "body"+forged+"end")
	long := exported(2, "body"+strings.Repeat(filler+"\n", 2*maxLine/len(filler))+forged+"end")
	torn := exported(2, strings.Repeat("y", 60)+"\ny")
	for name, test := range map[string]struct {
		text string
		told string // empty: nothing is amiss
	}{
		"a short message":            {whole, ""},
		"a long message":             {long, "more than"},
		"one long line":              {exported(2, strings.Repeat("x", 3*maxLine)+forged), "more than"},
		"a long line at the end":     {exported(2, "x"+forged+strings.Repeat("x", 3*maxLine)), "more than"},
		"a long line, whole text":    {exported(2, strings.Repeat("x", maxLine-len(forged)-20)+forged+"x"), ""},
		"a long line of text":        {exported(2, strings.Repeat("x", 3*maxLine)), "more than"},
		"another field":              {strings.Replace(long, "MESSAGE\n", "COREDUMP\n", 1), ""},
		"cut in the message":         {whole[:len(whole)-150], "neither"},
		"cut before the forged":      {whole[:strings.Index(whole, "body")+10], "neither"},
		"cut in a long message":      {long[:len(long)-1000], "neither"},
		"begun in the midst":         {torn[:len(torn)-40] + whole[strings.Index(whole, "body")+2:], "neither"},
		"a length beyond all limits": {strings.Replace(whole, "MESSAGE\n", "MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xff", 1), "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			stopped := strings.Repeat(exported(4, "x"), 10) // some of it goes with what is cut
			if strings.Contains(name, "long message") && test.told == "neither" {
				stopped = strings.Repeat(stopped, 20)
			}
			text := exported(1, "hello") + test.text + stopped + exported(5, "Graceful shutdown complete")
			cfg := Config{Kind: KindJournal, Lines: logrules.Config{Target: "api-1", Unit: "orders.service", Sets: []string{"systemd", "spring-boot"}}}
			check := func(how string, sink *sink) {
				t.Helper()
				if len(sink.steps) != 0 || len(sink.signals) != 1 || sink.signals[0].Rule != "spring-boot/shutdown-complete" {
					t.Errorf("%s: steps %+v, signals %+v", how, sink.steps, sink.signals)
				}
				if told := sink.told(); (told != "") != (test.told != "") || !strings.Contains(told, test.told) {
					t.Errorf("%s: told %q", how, told)
				}
			}
			sink1 := &sink{}
			cfg.URL = filepath.Join(t.TempDir(), "journal")
			put(t, cfg.URL, text)
			if err := open(t, cfg, sink1).Collect(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			check("at once", sink1)

			sink2 := &sink{}
			cfg.URL = filepath.Join(t.TempDir(), "journal")
			put(t, cfg.URL, "")
			for at := 0; at < len(text); {
				next := at + 611
				if at > 2000 && len(text)-at > 4000 {
					next = at + 300_000
				}
				appendTo(t, cfg.URL, text[at:min(next, len(text))])
				open(t, cfg, sink2).look(t.Context(), false)
				at = next
			}
			check("in pieces", sink2)

			sink3 := &sink{}
			cfg.URL, cfg.Stdin = Standard, bytes.NewReader([]byte(text))
			if err := open(t, cfg, sink3).Collect(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			check("through a pipe", sink3)
		})
	}
}

// Where nobody knows any more how an entry begins, that is remembered.
func TestJournalLostAcrossLooks(t *testing.T) {
	path, sink := filepath.Join(t.TempDir(), "journal"), &sink{}
	cfg := Config{Kind: KindJournal, URL: path, Lines: logrules.Config{Target: "api-1", Unit: "orders.service", Sets: []string{"systemd", "spring-boot"}}}
	put(t, path, exported(1, "hello")+"neither a field nor a name\n")
	open(t, cfg, sink).look(t.Context(), false)
	appendTo(t, path, forged)
	open(t, cfg, sink).look(t.Context(), false)
	appendTo(t, path, exported(2, "Graceful shutdown complete"))
	open(t, cfg, sink).look(t.Context(), false)
	if len(sink.steps) != 0 || len(sink.signals) != 1 || sink.told() == "" {
		t.Errorf("steps %+v, signals %+v, told %q", sink.steps, sink.signals, sink.told())
	}
}

// A container's line of too many pieces is no line, and neither is its end.
func TestContainerLineInTooManyPieces(t *testing.T) {
	var lines []string
	for range maxLine>>14 + 1 {
		lines = append(lines, criLine("25:01.0", "stdout", "P", strings.Repeat("x", 1<<14)))
	}
	lines = append(lines, criLine("25:01.1", "stdout", "P", "xxx"),
		criLine("25:01.1", "stdout", "F", "Graceful shutdown complete"), criLine("25:02.0", "stdout", "F", "rid=r1-000001 status=200"))
	sink := &sink{}
	cfg := Config{Kind: KindContainer, URL: write(t, "c.log", lines...), Lines: logrules.Config{Target: "api-1", LogMatch: answered, Sets: []string{"spring-boot"}}}
	if err := open(t, cfg, sink).Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if len(sink.signals) != 0 || len(sink.seqs()) != 1 || !strings.Contains(sink.told(), "longer than") {
		t.Errorf("signals %+v, handled %v, told %q", sink.signals, sink.seqs(), sink.told())
	}
}

// What is not understood is a hole between the understood lines around it, also where
// the same time is read again, and after a rotation.
func TestHolesOfWhatIsNotUnderstood(t *testing.T) {
	garbage := strings.Repeat("garbage\n", 500)
	entry := func(clock string) string {
		at, err := time.Parse(time.RFC3339, "2026-10-14T06:"+clock+"Z")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"__REALTIME_TIMESTAMP":"%d","_SYSTEMD_UNIT":"orders.service","MESSAGE":"x"}`, at.UnixMicro()) + "\n"
	}
	for kind, test := range map[string]struct {
		good func(clock string) string
		bad  string
	}{
		KindContainer: {func(clock string) string { return criLine(clock, "stdout", "F", "x") + "\n" }, garbage},
		KindJournal:   {entry, "{\n" + garbage},
		KindFile:      {func(clock string) string { return spring("06:"+clock, "x") + "\n" }, strings.Repeat("x", 2*maxLine) + "\n" + strings.Repeat("x", 2*maxLine) + "\n"},
	} {
		t.Run(kind, func(t *testing.T) {
			path, sink := filepath.Join(t.TempDir(), "app.log"), &sink{}
			put(t, path, test.good("25:00")+test.good("25:01")+test.bad+test.good("25:09")+test.good("25:10"))
			cfg := Config{Kind: kind, URL: path, Lines: logrules.Config{Target: "api-1", Unit: "orders.service", Sets: []string{"spring-boot"}}}
			check := func(how string) {
				t.Helper()
				covered := -1
				for i, run := range sink.runs {
					if run.Code == "" {
						covered = i
					}
				}
				rest := sink.runs[covered+1:]
				if covered < 0 || len(rest) != 1 || rest[0].Code != "bad_reply" || len(rest[0].Error) > 300 ||
					!rest[0].From.Equal(from.Add(25*time.Minute+time.Second)) || !rest[0].To.Equal(from.Add(25*time.Minute+9*time.Second)) {
					t.Errorf("%s: runs %+v", how, sink.runs)
				}
				sink.runs = nil
			}
			r := open(t, cfg, sink)
			for _, how := range []string{"first", "again", "by another reader", "after a rotation"} {
				switch how {
				case "by another reader":
					r = open(t, cfg, sink)
				case "after a rotation":
					rename(t, path, path+".1")
					put(t, path, test.good("27:00"))
				}
				if err := r.Collect(t.Context(), from, to); err != nil {
					t.Fatal(err)
				}
				check(how)
			}
			if err := r.Collect(t.Context(), from.Add(26*time.Minute), to); err != nil {
				t.Fatal(err)
			}
			if last := sink.runs[len(sink.runs)-1]; last.Code != "" {
				t.Errorf("a time without a hole: %+v", last)
			}
		})
	}
}

// However many holes there are, what is kept of them and told is bounded, and covers them.
func TestManyHoles(t *testing.T) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "%s\ngarbage\n", criLine(fmt.Sprintf("%02d:%02d.0", i/60, i%60), "stdout", "F", "x"))
	}
	path, sink := filepath.Join(t.TempDir(), "c.log"), &sink{}
	put(t, path, text.String())
	cfg := Config{Kind: KindContainer, URL: path, Lines: logrules.Config{Target: "api-1", Sets: []string{"spring-boot"}}}
	if err := open(t, cfg, sink).Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if n := len(sink.positions[path]); n > 20_000 || len(sink.runs) > mostHoles+1 {
		t.Errorf("a position of %d bytes, %d runs", n, len(sink.runs))
	}
	for i := range 1000 {
		at, told := from.Add(time.Duration(i)*time.Second+time.Second/2), false
		for _, run := range sink.runs {
			told = told || run.Code != "" && run.From.Before(at) && run.To.After(at)
		}
		if !told {
			t.Fatalf("nothing is told of %v", at)
		}
	}
}

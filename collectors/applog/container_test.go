package applog

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gapless/collectors/applog/logrules"
)

func dockerLine(clock, stream, text string) string {
	b, err := json.Marshal(map[string]string{"log": text, "stream": stream, "time": "2026-10-14T06:" + clock + "Z"})
	if err != nil {
		panic(err)
	}
	return string(b)
}

func criLine(clock, stream, tag, text string) string {
	return fmt.Sprintf("2026-10-14T06:%sZ %s %s %s", clock, stream, tag, text)
}

func TestContainer(t *testing.T) {
	ready := "Started App in 2.3 seconds (process running for 2.9)"
	for _, test := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"docker", []string{dockerLine("25:01.5", "stdout", spring("06:25:01.4", ready)+"\n")}, []string{"25:01.5 app.ready"}},
		{"cri", []string{criLine("25:01.5", "stdout", "F", spring("06:25:01.4", ready))}, []string{"25:01.5 app.ready"}},
		{"cri without the application's time", []string{criLine("25:01.5", "stdout", "F", ready)}, []string{"25:01.5 app.ready"}},
		{"docker in pieces", []string{
			dockerLine("25:01.5", "stdout", spring("06:25:01.4", ready[:12])), dockerLine("25:01.6", "stderr", "other\n"),
			dockerLine("25:01.7", "stdout", ready[12:20]), dockerLine("25:01.8", "stdout", ready[20:]+"\n"),
		}, []string{"25:01.5 app.ready"}},
		{"cri in pieces", []string{
			criLine("25:01.5", "stdout", "P", ready[:12]), criLine("25:01.6", "stderr", "P", "ot"), criLine("25:01.7", "stdout", "F", ready[12:]), criLine("25:01.8", "stderr", "F", "her"),
		}, []string{"25:01.5 app.ready"}},
		{"a line that its end never reached", []string{
			criLine("25:01.5", "stdout", "P", "half a li"), criLine("26:01.5", "stdout", "F", ready),
		}, []string{"26:01.5 app.ready"}},
		{"an empty line", []string{"2026-10-14T06:25:01Z stdout F", criLine("25:02.0", "stdout", "F", ready)}, []string{"25:02.0 app.ready"}},
		{"json in json", []string{dockerLine("25:01.5", "stdout", `{"time":"2026-10-14T06:25:01.4Z","msg":"`+ready+`"}`+"\n")}, []string{"25:01.5 app.ready"}},
		{"quoted on a line of its own", []string{criLine("25:01.5", "stdout", "F", spring("06:25:01.4", "no user x")), criLine("25:01.5", "stdout", "F", ready)}, nil},
		{"quoted", []string{dockerLine("25:01.5", "stdout", spring("06:25:01.4", "who is "+ready)+"\n"), dockerLine("25:01.5", "stdout", ready+"\n")}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			sink := &sink{}
			r := open(t, Config{Kind: KindContainer, URL: write(t, "c.log", test.lines...), Lines: logrules.Config{Target: "api-1", Sets: []string{"spring-boot", "json"}}}, sink)
			if err := r.Collect(t.Context(), from, to); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range sink.steps {
				got = append(got, s.At.Format("04:05.0 ")+string(s.Kind))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			for _, run := range sink.runs {
				if run.Code != "" {
					t.Errorf("run %+v", run)
				}
			}
		})
	}
}

// A line in pieces counts once, wherever reading stops between them.
func TestContainerGrows(t *testing.T) {
	var lines []string
	for i := range 40 {
		id := fmt.Sprintf("rid=r1-%06d status=200", i)
		clock := fmt.Sprintf("25:%02d.0", i)
		lines = append(lines, criLine(clock, "stdout", "P", id[:7]), criLine(clock, "stderr", "P", "other "), criLine(clock, "stderr", "F", "thing"), criLine(clock, "stdout", "F", id[7:]))
	}
	path := write(t, "c.log", lines[0])
	sink := &sink{}
	cfg := Config{Kind: KindContainer, URL: path, Lines: logrules.Config{Target: "api-1", LogMatch: answered}}
	open(t, cfg, sink).look(t.Context(), false)
	for _, line := range lines[1:] {
		appendTo(t, path, line+"\n")
		open(t, cfg, sink).look(t.Context(), false)
	}
	equal(t, "sequence numbers", sink.seqs(), numbers(0, 40))
	if got := sink.totals()[logrules.RuleAnswered]; got != [2]int{80, 40} {
		t.Errorf("%v lines counted and matched", got)
	}
}

// What was read and could not be stored leaves nothing behind: the second reading
// begins where the stored one ended, also with what it knows of the streams.
func TestFailedStoreOfAContainer(t *testing.T) {
	path := write(t, "c.log", criLine("25:00.0", "stdout", "F", "banner"))
	sink := &sink{}
	r := open(t, Config{Kind: KindContainer, URL: path, Lines: logrules.Config{Target: "api-1", Sets: []string{"spring-boot"}}}, sink)
	r.look(t.Context(), true)
	appendTo(t, path, criLine("25:01.0", "stdout", "F", "Graceful shutdown complete")+"\n"+criLine("25:02.0", "stdout", "F", spring("06:25:02.0", "x"))+"\n")
	sink.fail = 1
	for range 2 {
		r.look(t.Context(), true)
	}
	if len(sink.signals) != 1 {
		t.Errorf("signals %+v", sink.signals)
	}
}

func TestMalformedContainer(t *testing.T) {
	path := write(t, "c.log", "plain text", `{"log":"x"}`, `{"log":17,"time":"2026-10-14T06:25:01Z"}`, "2026-10-14T06:25:01Z stdnull F x", criLine("25:01.0", "stdout", "F", "rid=r1-000001 status=200"))
	sink := &sink{}
	if err := open(t, Config{Kind: KindContainer, URL: path, Lines: logrules.Config{Target: "api-1", LogMatch: answered}}, sink).Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	last := sink.runs[len(sink.runs)-1]
	if last.Code != "bad_reply" || !strings.HasSuffix(last.Error, "neither form of a container's log file; and 3 more places") {
		t.Errorf("run %+v", last)
	}
	equal(t, "sequence numbers", sink.seqs(), []int{1})
}

// A file's name, or a label of the container, says who wrote the lines.
func TestContainerTargets(t *testing.T) {
	path := write(t, "api-7_orders.log", criLine("25:01.0", "stdout", "F", "rid=r1-000001 status=200"))
	sink1 := &sink{}
	cfg := Config{Kind: KindContainer, URL: path, TargetMatch: regexp.MustCompile(`/(?P<target>api-\d+)_`), Lines: logrules.Config{LogMatch: answered}}
	if err := open(t, cfg, sink1).Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if len(sink1.handled) != 1 || sink1.handled[0].Target != "api-7" {
		t.Errorf("handled %+v", sink1.handled)
	}
	labelled := func(label, text string) string {
		return fmt.Sprintf(`{"log":"%s\n","stream":"stdout","attrs":{"node":%q},"time":"2026-10-14T06:25:01Z"}`, text, label)
	}
	path = write(t, "c.log", labelled("api-8", "rid=r1-000001 status=200"), labelled("other", "rid=r1-000002 status=200"))
	sink2 := &sink{}
	cfg = Config{Kind: KindContainer, URL: path, TargetLabel: "node", Targets: []string{"api-8"}, Lines: logrules.Config{LogMatch: answered}}
	if err := open(t, cfg, sink2).Collect(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if len(sink2.handled) != 1 || sink2.handled[0].Target != "api-8" {
		t.Errorf("handled %+v", sink2.handled)
	}
}

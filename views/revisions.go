package views

import (
	"slices"
	"strings"
	"time"

	"gapless/analysis"
)

// maxChanges bounds the changes of a revision that stand beside the verdict; the
// table of revisions has all.
const maxChanges = 3

func moreChanges(n int) string {
	if n <= maxChanges {
		return ""
	}
	return "and " + Count(n-maxChanges) + " more"
}

// changesOf parts what a revision changed into what came of late evidence and the
// claims that somebody typed, and puts those into the words of their claims. Typing a
// claim is no evidence.
func changesOf(changes []string, claims []analysis.Claim) (late, typed []string) {
	for _, change := range changes {
		id, rest, found := strings.Cut(strings.TrimPrefix(change, "claim "), ": new, ")
		if change == "finding health-sample-claim: new" && len(typed) > 0 { // it is about a claim, and claims come first
			typed = append(typed, "which makes the finding health-sample-claim")
			continue
		}
		if !found || !strings.HasPrefix(change, "claim "+typedPrefix) {
			late = append(late, claimNamed(change, claims))
			continue
		}
		typed = append(typed, claimQuoted(id, claims)+", "+rest)
	}
	return late, typed
}

// typedPrefix begins the ids of claims that somebody typed.
const typedPrefix = "typed-"

// claimQuoted is a typed claim by its text.
func claimQuoted(id string, claims []analysis.Claim) string {
	i := slices.IndexFunc(claims, func(c analysis.Claim) bool { return c.ID == id })
	if i < 0 || claims[i].Text == "" {
		return "a typed claim"
	}
	return "“" + Short(strings.TrimSuffix(claims[i].Text, "."), 80) + "”"
}

// claimNamed names the typed claim that a change is about by its text.
func claimNamed(change string, claims []analysis.Claim) string {
	about, found := strings.CutPrefix(change, "claim ")
	if end := strings.IndexAny(about, ":,"); found && end > 0 && strings.HasPrefix(about, typedPrefix) {
		if quoted := claimQuoted(about[:end], claims); strings.HasPrefix(quoted, "“") {
			return "claim " + quoted + about[end:]
		}
		return "a typed claim" + about[end:]
	}
	return change
}

// changeWords are all changes of a revision in words, as one list.
func changeWords(changes []string, claims []analysis.Claim) []string {
	late, typed := changesOf(changes, claims)
	for _, claim := range typed {
		late = append(late, "claimed: "+claim)
	}
	return late
}

func revisionTable(revisions []analysis.RevisionNote, claims []analysis.Claim, zone *time.Location) Table {
	table := Table{Caption: "Revisions of this report, newest first", Columns: []Cell{right("revision"), left("judged at"), left("verdict"), left("what it changed")}}
	if len(revisions) < 2 {
		return table
	}
	for _, n := range slices.Backward(revisions) {
		changed := Cell{Text: "the first", Class: "l z"}
		if n.Number > 1 {
			changed = Cell{Class: "l w"}
			for _, change := range changeWords(n.Changes, claims) {
				changed.Spans = append(changed.Spans, SpanText{Text: change})
			}
			if len(n.Changes) == 0 {
				changed = Cell{Text: "nothing that counts", Class: "l z"}
			}
		}
		table.Rows = append(table.Rows, Row{Cells: []Cell{right(Count(n.Number)), at(dateClock(n.At, zone)), left(word(verdictWords, n.Verdict)), changed}})
	}
	return table
}

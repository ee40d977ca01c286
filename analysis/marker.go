package analysis

import "time"

// Marker is one thing that is told to other systems: a deploy that began or was
// reported, a step, a finding, a verdict.
type Marker struct {
	ID      int64 // of the outbox; 0 until it is in it
	Service string
	Key     string // says what it is about: what has the same key is told once
	Kind    string // deploy, step, finding, verdict
	At      time.Time
	Line    string // key=value pairs, the first of them a text for people
}

// Kinds of markers.
const (
	MarkerDeploy  = "deploy"
	MarkerStep    = "step"
	MarkerFinding = "finding"
	MarkerVerdict = "verdict"
)

// Told is what became of markers of one service in one attempt.
type Told struct {
	At      time.Time
	Sent    []int64
	Dropped map[int64]string // and why
	// Code and Error are of those that wait for another attempt; empty where none does.
	Code, Error string
}

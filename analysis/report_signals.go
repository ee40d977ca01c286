package analysis

// JourneyReport counts the journeys of one kind that began in the window.
type JourneyReport struct {
	Journey string `json:"journey"`
	JourneyCounts
	ByPhase map[string]JourneyCounts `json:"by_phase"` // by the phase in which they began
	// Reconciled holds the identifiers of each further source against the first's.
	Reconciled []Reconciled `json:"reconciled"`
}

// JourneyCounts say how journeys ended. Started is the sum of the others.
type JourneyCounts struct {
	Started        int `json:"started"`
	Completed      int `json:"completed"`               // every step at its first attempt, in whatever order they were told
	AfterRetries   int `json:"completed_after_retries"` // every step, some at a later attempt
	WithoutEarlier int `json:"later_without_earlier"`   // a later step succeeded though an earlier one never did, or had failed and did only afterwards
	NeverFinished  int `json:"never_finished"`          // a step is missing when the time was up
	Undecided      int `json:"undecided"`               // its time was not up when evidence ended, or a source was blind in it
}

// Reconciled compares the identifiers that two sources tell of one step.
type Reconciled struct {
	Step      string   `json:"step"`
	A         string   `json:"a"`
	B         string   `json:"b"`
	Both      int      `json:"both"`
	OnlyA     int      `json:"only_a"`
	OnlyB     int      `json:"only_b"`
	ExamplesA []string `json:"examples_a"` // of OnlyA, at most 10, in order
	ExamplesB []string `json:"examples_b"`
}

// DependencyUse counts the calls to one dependency in the window.
type DependencyUse struct {
	Dependency string         `json:"dependency"`
	Wanted     int            `json:"wanted"` // distinct identifiers that calls were for
	Sent       int            `json:"sent"`
	Refused    map[string]int `json:"refused"` // never sent, by what refused them
	Results    map[string]int `json:"results"` // of those sent; "none" where no line tells the end
	// Amplification is how often a call was sent for one identifier, on average, of
	// those for which one was sent; null where lines name no identifiers.
	Amplification *float64 `json:"amplification"`
	Amplified     bool     `json:"amplified"`      // since the deploy began, so much that retry-amplification fires
	MaxPerSecond  int      `json:"max_per_second"` // most calls sent in any one second (sliding)
	MaxAt         Time     `json:"max_at"`         // start of that second
	MaxInFlight   *int     `json:"max_in_flight"`  // most calls of one target that waited at once, less those whose ends were not read; null where no line tells their ends
}

// BreakerSpan is a stretch of time in which a circuit breaker was in one state.
type BreakerSpan struct {
	Breaker string `json:"breaker"`
	Target  string `json:"target"`
	State   string `json:"state"` // CLOSED, OPEN, HALF_OPEN, as the log says it
	Span
	Refused int `json:"refused"` // calls refused in it, never sent: their result is known
	Sent    int `json:"sent"`
}

// GaugeReport is what one metric of one target told over the window.
type GaugeReport struct {
	Source string   `json:"source"`
	Target string   `json:"target"`
	Metric string   `json:"metric"`
	Before *float64 `json:"before"` // mean of the samples before deploy.started
	Max    *float64 `json:"max"`    // of those from then to the window's end
	MaxAt  Time     `json:"max_at"`
	After  *float64 `json:"after"` // mean of those after the tail began
}

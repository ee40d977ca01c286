package analysis

// skewTolerance is how far from zero a clock's offset must surely be, in
// milliseconds, before it is worth a warning.
const skewTolerance = 100

// clockSkew fires when two clocks cannot both be right: a step contradicts the order
// of its target's steps, the bounds on an offset exclude each other, or the offset
// is surely away from zero.
func clockSkew(b *bench) ([]Finding, string) {
	var found []Finding
	for _, s := range b.steps {
		if s.ignored {
			found = append(found, Finding{
				Severity: SeverityMedium, Target: known(s.Target), From: Time{s.At}, To: Time{s.At},
				Values:   map[string]any{"a": "steps", "b": s.Source, "step": s.Kind, "from_ms": nil, "to_ms": nil},
				Evidence: []Evidence{{Kind: "steps", Source: s.Source, From: Time{s.At}, To: Time{s.At}, Count: 1}},
			})
		}
	}
	for _, s := range b.servedThrough {
		found = append(found, Finding{
			Severity: SeverityMedium, Target: known(s.Target), From: s.From, To: s.To,
			Values:   map[string]any{"a": "steps", "b": "traffic", "step": StepRestartBegan, "from_ms": nil, "to_ms": nil},
			Evidence: []Evidence{{Kind: "requests", Source: "traffic", From: s.From, To: s.To}},
		})
	}
	for _, o := range b.offsets {
		if !b.skewed[o.B] && o.Offset.From <= skewTolerance && o.Offset.To >= -skewTolerance {
			continue
		}
		found = append(found, Finding{
			Severity: SeverityMedium, From: Time{b.from}, To: Time{b.seenTo},
			Values:   map[string]any{"a": o.A, "b": o.B, "step": nil, "from_ms": o.Offset.From, "to_ms": o.Offset.To},
			Evidence: []Evidence{{Kind: "probes", Source: o.B, From: Time{b.from}, To: Time{b.seenTo}}},
		})
	}
	if len(found) == 0 && len(b.offsets) == 0 {
		return nil, whyNoMatches
	}
	return found, ""
}

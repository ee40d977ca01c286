package evidence

import (
	"fmt"
	"math"
	"slices"

	"gapless/analysis"
)

// sound refuses values that no collector can have made: the judge must not be asked
// about them. Whatever else a record says is taken as it stands.
func sound(v any) error {
	switch v := v.(type) {
	case *analysis.Cell:
		switch {
		case v.Count < 1 || v.Count > math.MaxInt32:
			return fmt.Errorf("count %d: want 1 to %d", v.Count, math.MaxInt32)
		case v.Masked < 0 || v.Masked > v.Count:
			return fmt.Errorf("masked %d: want 0 to the count of %d", v.Masked, v.Count)
		}
		return soundKey(&v.CellKey)
	case *analysis.Request:
		return soundKey(&v.CellKey)
	case *analysis.Latencies:
		return soundClass(v.Class)
	case *analysis.ProbeRequest:
		if err := soundClass(v.Class); err != nil {
			return err
		}
		return soundOutcome(v.Outcome)
	}
	return nil
}

func soundKey(k *analysis.CellKey) error {
	if err := soundClass(k.Class); err != nil {
		return err
	}
	return soundOutcome(k.Outcome)
}

func soundClass(c analysis.Class) error {
	if !slices.Contains(analysis.Classes, c) {
		return fmt.Errorf("class %q: there is no such class of requests", c)
	}
	return nil
}

func soundOutcome(o analysis.Outcome) error {
	if !slices.Contains(analysis.Outcomes, o) {
		return fmt.Errorf("outcome %q: there is no such outcome", o)
	}
	return nil
}

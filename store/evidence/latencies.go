package evidence

import (
	"encoding/binary"
	"errors"
	"time"

	"gapless/analysis"
)

type latenciesRecord struct {
	Second moment         `json:"second"`
	Source string         `json:"source"`
	Node   *string        `json:"node"`
	Class  analysis.Class `json:"class"`
	Route  *string        `json:"route"`
	Took   *sketch        `json:"took"`
	rawBytes
}

func latenciesOf(s *analysis.Latencies) (latenciesRecord, error) {
	took, err := sketchOf(s.Took)
	return latenciesRecord{Second: moment{time.Unix(s.Second, 0)}, Source: s.Source, Node: optional(&s.Node), Class: s.Class, Route: optional(&s.Route), Took: took}, err
}

func (r latenciesRecord) latencies(l *lineReader) (analysis.Latencies, error) {
	took, err := r.Took.histogram()
	return analysis.Latencies{LatencyKey: analysis.LatencyKey{
		Second: r.Second.Unix(), Source: l.name(r.Source), Node: l.names(r.Node), Class: analysis.Class(l.name(string(r.Class))), Route: l.names(r.Route),
	}, Took: took}, err
}

// sketch is a histogram of microseconds: its exact maximum, and pairs of a bucket's
// number and the values counted in it, ascending.
type sketch struct {
	Max     int64       `json:"max_us"`
	Buckets [][2]uint64 `json:"buckets"`
}

var errSketch = errors.New("the latency sketch is not one")

// sketchOf reads what [analysis.Histogram.AppendBinary] writes.
func sketchOf(h *analysis.Histogram) (*sketch, error) {
	if h == nil {
		return nil, errSketch
	}
	b, err := h.AppendBinary(nil)
	if err != nil {
		return nil, err
	}
	s := &sketch{Max: h.Max(), Buckets: [][2]uint64{}}
	for range 3 { // the maximum, how many values, how many bytes
		_, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errSketch
		}
		b = b[n:]
	}
	bucket := uint64(0)
	for len(b) > 0 {
		step, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, errSketch
		}
		count, m := binary.Uvarint(b[n:])
		if m <= 0 {
			return nil, errSketch
		}
		bucket += step
		s.Buckets = append(s.Buckets, [2]uint64{bucket, count})
		b = b[n+m:]
	}
	return s, nil
}

func (s *sketch) histogram() (*analysis.Histogram, error) {
	if s == nil || s.Max < 0 {
		return nil, errSketch
	}
	var pairs []byte
	last, values := uint64(0), uint64(0)
	for i, pair := range s.Buckets {
		if i > 0 && pair[0] <= last || pair[1] == 0 || pair[1] > 1<<32-1 {
			return nil, errSketch
		}
		pairs = binary.AppendUvarint(pairs, pair[0]-last)
		pairs = binary.AppendUvarint(pairs, pair[1])
		last = pair[0]
		values += pair[1]
	}
	b := make([]byte, 0, len(pairs)+12)
	b = binary.AppendUvarint(b, uint64(s.Max))
	b = binary.AppendUvarint(b, values)
	b = binary.AppendUvarint(b, uint64(len(pairs)))
	h, _, err := analysis.DecodeHistogram(append(b, pairs...))
	if err != nil {
		return nil, errSketch
	}
	return h, nil
}

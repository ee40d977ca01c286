package store

import (
	"encoding/binary"
	"errors"
	"math"
)

// reader reads numbers from bytes; after a failure it is bad and yields zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) number() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 { // nearly always
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

// copyNumber appends the next number to b as it is.
func (r *reader) copyNumber(b []byte) []byte {
	rest := r.b
	r.number()
	if r.bad {
		return b
	}
	return append(b, rest[:len(rest)-len(r.b)]...)
}

func (r *reader) signed() int64 {
	v := r.number()
	return int64(v>>1) ^ -int64(v&1)
}

// count is the number of things that follow, of a byte each at least.
func (r *reader) count() int {
	n := r.number()
	if n > uint64(len(r.b)) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) bytes() []byte {
	n := r.count()
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

// packSeqs packs ascending numbers: the first, then the distances.
func packSeqs(seqs []uint32) []byte {
	b := make([]byte, 0, len(seqs)+4)
	previous := uint32(0)
	for _, s := range seqs {
		b = binary.AppendUvarint(b, uint64(s-previous))
		previous = s
	}
	return b
}

func unpackSeqs(b []byte) ([]uint32, error) {
	seqs := make([]uint32, 0, len(b))
	r, previous := reader{b: b}, uint64(0)
	for len(r.b) > 0 {
		previous += r.number()
		if r.bad || previous > math.MaxUint32 {
			return nil, errors.New("packed sequence numbers are damaged")
		}
		seqs = append(seqs, uint32(previous))
	}
	return seqs, nil
}

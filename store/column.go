package store

import (
	"encoding/binary"

	"github.com/klauspost/compress/huff0"
)

// columnPart is how many bytes of a column share one table of prefix codes.
const columnPart = 64 << 10

// columnPacker packs bytes of one kind with prefix codes (Huffman): frequent ones take
// few bits. The same bytes give the same bytes. The zero value is ready to use.
type columnPacker struct{ scratch *huff0.Scratch }

// append appends a column: its length, then parts of columnPart bytes (the last one
// shorter), each as the length of its codes and the codes, or, where codes would take
// more, a zero and the bytes themselves.
func (p *columnPacker) append(b, column []byte) []byte {
	if p.scratch == nil {
		p.scratch = &huff0.Scratch{Reuse: huff0.ReusePolicyNone}
	}
	b = binary.AppendUvarint(b, uint64(len(column)))
	for len(column) > 0 {
		part := column[:min(len(column), columnPart)]
		column = column[len(part):]
		codes, _, err := huff0.Compress4X(part, p.scratch)
		if err != nil || len(codes) >= len(part) { // of one byte repeated, or of bytes as frequent as each other
			b = append(append(b, 0), part...)
			continue
		}
		b = binary.AppendUvarint(b, uint64(len(codes)))
		b = append(b, codes...)
	}
	return b
}

// read reads a column into a buffer, which it may replace by a larger one. What it
// returns is that buffer's.
func (p *columnPacker) read(r *reader, buffer *[]byte) []byte {
	size := r.number()
	if size > 8*uint64(len(r.b)) { // a code takes at least a bit
		r.bad, r.b = true, nil
	}
	if r.bad {
		return nil
	}
	column := (*buffer)[:0]
	if uint64(cap(column)) < size {
		column = make([]byte, 0, size)
	}
	for uint64(len(column)) < size {
		part := int(min(size-uint64(len(column)), columnPart))
		codes := r.bytes()
		switch {
		case r.bad:
			return nil
		case len(codes) > 0:
			column = p.decode(r, column, codes, part)
		case part > len(r.b):
			r.bad, r.b = true, nil
		default:
			column = append(column, r.b[:part]...)
			r.b = r.b[part:]
		}
		if r.bad {
			return nil
		}
	}
	*buffer = column
	return column
}

// decode appends the part that codes stand for.
func (p *columnPacker) decode(r *reader, column, codes []byte, part int) []byte {
	var err error
	var rest []byte
	if p.scratch, rest, err = huff0.ReadTable(codes, p.scratch); err == nil {
		at := len(column)
		var out []byte
		out, err = p.scratch.Decoder().Decompress4X(column[at:at:at+part], rest)
		if err == nil && len(out) == part {
			return column[:at+part]
		}
	}
	r.bad, r.b = true, nil
	return nil
}

package accesslog

import (
	"encoding/binary"
	"strings"
)

// names numbers distinct texts in the order in which they come. Number 0 is none.
type names struct {
	numbers map[string]uint32 // by text
	texts   []string          // by number
	values  []string          // by number
	recent  [16]recentName    // by the texts' ends: most lines have one of a few
}

type recentName struct {
	text   string
	number uint32
}

// of answers b's number; value makes the name from b the first time.
func (n *names) of(b []byte, value func(string) string) uint32 {
	if b == nil {
		return 0
	}
	recent := &n.recent[ends(b)%uint64(len(n.recent))]
	if recent.number > 0 && recent.text == string(b) {
		return recent.number
	}
	number, ok := n.numbers[string(b)]
	if !ok {
		if n.numbers == nil {
			n.numbers, n.texts, n.values = map[string]uint32{}, append(n.texts, ""), append(n.values, "")
		}
		number = uint32(len(n.values))
		text := string(b)
		name := strings.ToValidUTF8(text, "\uFFFD")
		if value != nil {
			name = value(name)
		}
		n.numbers[text] = number
		n.texts, n.values = append(n.texts, text), append(n.values, name)
	}
	*recent = recentName{n.texts[number], number}
	return number
}

// ends is a hash of a text's first and last eight bytes.
func ends(b []byte) uint64 {
	const odd = 0x9e3779b97f4a7c15
	if len(b) < 8 {
		h := uint64(len(b))
		for _, c := range b {
			h = h<<8 | uint64(c)
		}
		return h * odd >> 32
	}
	return (binary.LittleEndian.Uint64(b)*odd ^ binary.LittleEndian.Uint64(b[len(b)-8:])) * odd >> 32
}

func (n *names) name(number uint32) string {
	if number == 0 {
		return ""
	}
	return n.values[number]
}

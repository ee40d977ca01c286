package accesslog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Fields of an ALB access-log line, by position. AWS only ever appends.
const (
	albType = iota
	albTime
	albELB
	albClient
	albTarget
	albRequestTime
	albTargetTime
	albResponseTime
	albStatus
	albTargetStatus
	albReceived
	albSent
	albRequest
	albAgent
	albCipher
	albTLS
	albGroup
	albTrace
	albDomain
	albCert
	albRule
	albCreated
	albActions
	albRedirect
	albError
	albTargetList
	albStatusList
	albClassification
	albClassificationReason
	albConnTrace
	albHost
	albURI
	albTransform
	albNode
	albFields // how many there are

	// albLeast is the number of fields that a line must have.
	albLeast = albRequest + 1
)

// albNames are the documented names ("Access log entries", Elastic Load Balancing
// user guide for Application Load Balancers).
var albNames = [albFields]string{
	"type", "time", "elb", "client:port", "target:port",
	"request_processing_time", "target_processing_time", "response_processing_time",
	"elb_status_code", "target_status_code", "received_bytes", "sent_bytes",
	"request_line", "user_agent", "ssl_cipher", "ssl_protocol", "target_group_arn",
	"trace_id", "domain_name", "chosen_cert_arn", "matched_rule_priority",
	"request_creation_time", "actions_executed", "redirect_url", "error_reason",
	"target:port_list", "target_status_code_list", "classification", "classification_reason",
	"conn_trace_id", "transformed_host", "transformed_uri", "request_transform_status", "ip_address",
}

// albFormat parses ALB access-log lines. It keeps the fields of the last line, so
// one value serves one goroutine.
type albFormat struct {
	fields albTokens
	clock  clock
}

// albTokens are the fields of one line: at most albFields, whatever follows them
// is ignored.
type albTokens struct {
	line []byte
	at   [albFields]stretch
	n    int
	next int  // where the fields after the n-th begin
	open bool // the last field's closing quote is missing
	same [2]memo
}

// stretch is a part of a line.
type stretch struct{ from, to uint32 }

// field is the i-th field without its quotes, as it stands; nil where the line
// ends before it.
func (t *albTokens) field(i int) []byte {
	if i >= t.n {
		return nil
	}
	return t.line[t.at[i].from:t.at[i].to:t.at[i].to]
}

// value is the i-th field, or nil where it is missing, empty or "-".
func (t *albTokens) value(i int) []byte {
	if b := t.field(i); len(b) > 1 || len(b) == 1 && b[0] != '-' {
		return b
	}
	return nil
}

// split cuts a line into its fields. Fields are separated by spaces; each may be
// quoted or bare. A closing quote ends a field even where no space follows it
// (lines with `"-"1` are in circulation), except in the two fields whose text is
// the client's.
func (t *albTokens) split(line []byte) {
	t.begin(line)
	t.upTo(albFields)
}

// begin takes a line; upTo cuts it.
func (t *albTokens) begin(line []byte) { t.line, t.n, t.next, t.open = line, 0, 0, false }

// quotedDash is `"-" `, little-endian.
const quotedDash = '"' | '-'<<8 | '"'<<16 | ' '<<24

// upTo cuts the line up to its n-th field, going on where it stopped before.
func (t *albTokens) upTo(n int) {
	line, i := t.line, t.next
	for t.n < n && !t.open {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		if i >= len(line) {
			break
		}
		at := &t.at[t.n]
		rest := line[i:]
		if rest[0] != '"' {
			end := i + indexSpace(rest)
			*at = stretch{uint32(i), uint32(end)}
			i = end
			t.n++
			continue
		}
		// Many quoted fields are a dash, and need no search for their end.
		if len(rest) >= 4 && binary.LittleEndian.Uint32(rest) == quotedDash {
			*at = stretch{uint32(i + 1), uint32(i + 2)}
			i += 3
			t.n++
			continue
		}
		i++
		end := bytes.IndexByte(line[i:], '"')
		if end < 0 {
			t.open = true
			at.from, at.to = uint32(i), uint32(len(line))
			i = len(line)
			t.n++
			break
		}
		if next := i + end + 1; end > 0 && line[next-2] == '\\' || next < len(line) && line[next] != ' ' {
			end = closingQuote(line[i:], t.n == albRequest || t.n == albAgent)
			if end < 0 {
				t.open = true
				end = len(line) - i
			}
		}
		at.from, at.to = uint32(i), uint32(i+end)
		i += end + 1
		t.n++
	}
	t.next = i
}

// memo is the text of a few fields in a row, as the line before had it: most lines
// have the same there, and to compare is cheaper than to cut.
type memo struct {
	text []byte // from the first field to the one byte after the last, which ends it
	at   [4]stretch
}

// memoLimit bounds the text of a memo.
const memoLimit = 1024

// upToLike cuts the line up to its n-th field (at most four from here), which m
// does where they are the same as in the line before.
func (t *albTokens) upToLike(m *memo, n int) {
	first := t.n
	for t.next < len(t.line) && t.line[t.next] == ' ' {
		t.next++
	}
	begin := t.next
	if len(m.text) > 0 && bytes.HasPrefix(t.line[begin:], m.text) {
		for i, at := range m.at[:n-first] {
			t.at[first+i] = stretch{at.from + uint32(begin), at.to + uint32(begin)}
		}
		t.n, t.next = n, begin+len(m.text)-1
		return
	}
	t.upTo(n)
	m.text = m.text[:0]
	if t.n < n || t.open || t.next >= len(t.line) || t.next-begin >= memoLimit {
		return
	}
	m.text = append(m.text, t.line[begin:t.next+1]...)
	for i := range n - first {
		m.at[i] = stretch{t.at[first+i].from - uint32(begin), t.at[first+i].to - uint32(begin)}
	}
}

// indexSpace is the place of the first space in b, or b's length. Most bare fields
// are so short that eight bytes at a time beat a call.
func indexSpace(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:]) ^ ones*' '
		if found := (x - ones) &^ x & highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if b[i] == ' ' {
			return i
		}
	}
	return len(b)
}

// closingQuote finds the quote that ends a field: the first that no backslash
// precedes, and, in text that a client sent, that a space or the line's end follows.
// It answers -1 where there is none.
func closingQuote(b []byte, clients bool) int {
	first := -1
	for i := 0; i < len(b); i++ {
		next := bytes.IndexByte(b[i:], '"')
		if next < 0 {
			break
		}
		i += next
		if i > 0 && b[i-1] == '\\' {
			continue
		}
		if !clients || i+1 == len(b) || b[i+1] == ' ' {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return first
}

func (f *albFormat) parse(line []byte, e *entry) (reject, bool) {
	t := &f.fields
	t.begin(line)
	t.upTo(albCipher)
	if t.n == albCipher && !t.open {
		t.upToLike(&t.same[0], albGroup+1)
		t.upTo(albDomain)
	}
	if t.n == albDomain && !t.open {
		t.upToLike(&t.same[1], albRule+1)
		t.upTo(albCreated + 1)
	}
	whole := t.n
	if t.open {
		whole--
	}
	if whole < albLeast || !albTypeWord(t.field(albType)) || bytes.HasPrefix(t.field(albELB), []byte("net/")) {
		return diagnoseALB(line), false
	}
	end, ok := f.clock.parse(t.field(albTime))
	if !ok {
		return diagnoseALB(line), false
	}
	status, ok := parseStatus(t.field(albStatus))
	if !ok {
		return diagnoseALB(line), false
	}
	e.end, e.status = end, status
	e.targetStatus, _ = parseStatus(t.field(albTargetStatus))
	e.start, e.hasStart = f.clock.parse(t.field(albCreated))
	e.balancer, e.node, e.errorReason = t.value(albELB), nil, nil
	e.client, e.clientPort = nil, nil
	if client := t.value(albClient); client != nil {
		e.client, e.clientPort = splitAddress(client)
	}
	e.target, e.group = t.value(albTarget), t.value(albGroup)
	e.method, e.url, e.protocol = splitRequest(t.value(albRequest))
	e.agent = t.value(albAgent)
	wait := t.field(albRequestTime)
	e.connected = len(wait) > 0 && wait[0] != '-'
	word := t.field(albType)
	e.webSocket = status == 101 || word[0] == 'w' && word[1%len(word)] == 's'
	return reject{}, true
}

// rest reads what parse left out: the node and the reason of an error, which stand
// at the line's end and are needed for few lines.
func (f *albFormat) rest(e *entry) {
	f.fields.upTo(albFields)
	e.node, e.errorReason = f.fields.value(albNode), f.fields.value(albError)
}

func (f *albFormat) appendFields(b []byte) []byte {
	return appendTokens(b, &f.fields, albNames[:])
}

// albTypeWord reports whether b can be a type: a short word. Which words there are
// is AWS's business and grows (h3 came unannounced).
func albTypeWord(b []byte) bool {
	if len(b) == 0 || len(b) > 16 {
		return false
	}
	for _, c := range b {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && c != '/' && c != '_' {
				return false
			}
		}
	}
	return true
}

// parseStatus reads three digits, or "-" as 0.
func parseStatus(b []byte) (int, bool) {
	if len(b) == 1 && b[0] == '-' {
		return 0, true
	}
	if len(b) != 3 || !digits(b) {
		return 0, false
	}
	return int(b[0]-'0')*100 + int(b[1]-'0')*10 + int(b[2]-'0'), true
}

// splitRequest splits a request line at its first and last space, since a URL may
// hold raw spaces. A last word that is no protocol belongs to the URL.
func splitRequest(b []byte) (method, url, protocol []byte) {
	method, url, ok := bytes.Cut(b, []byte(" "))
	if !ok {
		if bytes.Contains(b, []byte("://")) {
			return nil, b, nil
		}
		return b, nil, nil
	}
	if last := bytes.LastIndexByte(url, ' '); last >= 0 {
		if word := url[last+1:]; dash(word) || bytes.HasPrefix(word, []byte("HTTP/")) {
			url, protocol = url[:last], word
		}
	} else if bytes.HasPrefix(url, []byte("HTTP/")) {
		url, protocol = nil, url
	}
	return absent(method), absent(url), absent(protocol)
}

func dash(b []byte) bool { return len(b) == 1 && b[0] == '-' }

func absent(b []byte) []byte {
	if len(b) == 0 || dash(b) {
		return nil
	}
	return b
}

// diagnoseALB says why a line is not an ALB access-log line that can be understood.
func diagnoseALB(line []byte) reject {
	var t albTokens
	t.split(line)
	why, kind := otherThan(line, &t, KindALB)
	if kind == "" {
		return why
	}
	_, timed := parseTime(t.field(albTime))
	_, status := parseStatus(t.field(albStatus))
	switch {
	case t.n < albLeast || t.open && t.n == albLeast:
		return few(&t, albLeast, albNames[:], kind)
	case !timed:
		return reject{reasonTime, fmt.Sprintf("time %s is not a time", quote(t.field(albTime))), kind}
	case !status:
		return reject{reasonStatus, fmt.Sprintf("elb_status_code %s is neither three digits nor -", quote(t.field(albStatus))), kind}
	}
	return reject{reasonType, fmt.Sprintf("type %s is not a word", quote(t.field(albType))), kind}
}

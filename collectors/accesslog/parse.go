package accesslog

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"
)

// Parsed says how many lines Parse understood and how many it did not, and which
// inputs it could not read to their end.
type Parsed struct {
	Understood, SetAside int
	Broken               []error // each begins with its input's name
}

// Input is a log with the name that it goes by in messages.
type Input struct {
	Name string
	io.Reader
}

// Parse writes how each line of the inputs is understood, one JSON object a line.
// Line numbers begin at 1 in each input; gzip is recognised by content. Of cfg it
// takes Kind, Format and Zone. An input that breaks off, or is damaged, is written as
// far as it could be read, and does not keep the next from being read. The error is
// about cfg, writing or ctx, never about an input.
func Parse(ctx context.Context, w io.Writer, cfg Config, inputs ...Input) (total Parsed, err error) {
	lines, err := newFormat(&cfg)
	if err != nil {
		return Parsed{}, fmt.Errorf("parse: %w", err)
	}
	out := bufio.NewWriterSize(w, 64<<10)
	defer func() {
		if flushed := out.Flush(); flushed != nil && err == nil { // what is understood is written, whatever came after it
			err = fmt.Errorf("write parsed lines: %w", flushed)
		}
	}()
	p := lineWriter{format: lines, proxy: Follows(cfg.Kind)}
	for _, input := range inputs {
		source := &watched{r: input}
		var unwritten error
		end, err := eachLine(ctx, source, func(l *line) {
			var ok bool
			p.buffer, ok = p.append(p.buffer[:0], l)
			if ok {
				total.Understood++
			} else {
				total.SetAside++
			}
			if _, err := out.Write(p.buffer); err != nil {
				unwritten = err
			}
		})
		switch {
		case err != nil:
			return total, err
		case unwritten != nil:
			return total, fmt.Errorf("write parsed lines: %w", unwritten)
		case source.err != nil:
			total.Broken = append(total.Broken, fmt.Errorf("%s: read log: %w", input.Name, source.err))
		case end.corrupt():
			total.Broken = append(total.Broken, fmt.Errorf("%s: the gzip file is damaged: %w; what came before was read", input.Name, end.err))
		case end.partial():
			total.Broken = append(total.Broken, fmt.Errorf("%s: the gzip file breaks off; what came before was read", input.Name))
		}
	}
	return total, nil
}

// ownLines is a format whose lines are no requests: it writes what it has from the
// duration to the fields.
type ownLines interface {
	format
	appendMore(b []byte, e *entry) []byte
}

// lineWriter writes lines as JSON.
type lineWriter struct {
	format  format
	proxy   bool // the format may tell of attempts
	entry   entry
	buffer  []byte
	scratch []byte
}

// append writes one line and reports whether it was understood.
func (p *lineWriter) append(b []byte, l *line) ([]byte, bool) {
	b = append(b, `{"line":`...)
	b = strconv.AppendInt(b, int64(l.number), 10)
	why, ok := reject{}, false
	switch {
	case l.cut:
		why = rejectCut
	case l.long > 0:
		why = rejectLong
	default:
		if why, ok = p.format.parse(withoutBOM(l), &p.entry); !ok {
			break
		}
		if ok = anyObject.holds(&p.entry); !ok {
			why = rejectRange
			break
		}
		p.format.rest(&p.entry)
	}
	if !ok {
		b = append(b, `,"ok":false,"reason":`...)
		b = appendString(b, []byte(why.reason))
		b = append(b, `,"detail":`...)
		b = appendString(b, []byte(why.detail))
		b = append(b, `,"kind":`...)
		b = appendString(b, []byte(why.kind))
		return append(b, "}\n"...), false
	}
	e := &p.entry
	b = append(b, `,"ok":true,"start":`...)
	if e.hasStart {
		b = appendTime(b, e.start)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"end":`...)
	b = appendTime(b, e.end)
	b = p.text(b, "client_ip", e.client)
	b = p.number(b, "client_port", e.clientPort)
	b = p.text(b, "target", e.target)
	host, port := splitAddress(e.target)
	b = p.text(b, "target_ip", host)
	b = p.number(b, "target_port", port)
	b = appendStatus(append(b, `,"status":`...), e.status)
	b = appendStatus(append(b, `,"target_status":`...), e.targetStatus)
	b = p.text(b, "method", e.method)
	b = p.decoded(b, "url", e.url)
	b = p.text(b, "protocol", e.protocol)
	b = p.decoded(b, "user_agent", e.agent)
	if own, ok := p.format.(ownLines); ok {
		return p.fields(own.appendMore(b, e)), true
	}
	b = append(b, `,"duration_ms":`...)
	if took := e.end - e.start; e.hasStart && took >= 0 {
		b = strconv.AppendFloat(b, float64(took)/1000, 'f', -1, 64)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"outcome":"`...)
	b = append(b, e.outcomeOf()...)
	b = append(b, `","attempts":`...)
	b = strconv.AppendInt(b, int64(max(e.attempts, 1)), 10)
	if p.proxy {
		b = p.attempts(b)
	}
	return p.fields(b), true
}

// fields writes every field by its name, and ends the line.
func (p *lineWriter) fields(b []byte) []byte {
	b = append(b, `,"fields":{`...)
	b = p.format.appendFields(b)
	return append(b, "}}\n"...)
}

// appendTokens writes every field of a line by its name.
func appendTokens(b []byte, fields *albTokens, names []string) []byte {
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMember(b, name, fields.field(i))
	}
	return b
}

// attempts writes what a proxy says of how it got the answer.
func (p *lineWriter) attempts(b []byte) []byte {
	e := &p.entry
	b = append(b, `,"upstreams":`...)
	if e.upstreams == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, '[')
		for i := range e.upstreams {
			u := &e.upstreams[i]
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, '{')
			b = appendMember(b, "addr", u.addr)
			status, _ := parseStatus(u.status)
			b = appendStatus(append(b, `,"status":`...), status)
			b = append(b, `,"response_time_ms":`...)
			if took, ok := parseSeconds(u.response); ok {
				b = strconv.AppendFloat(b, float64(took)/1000, 'f', -1, 64)
			} else {
				b = append(b, "null"...)
			}
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	b = p.text(b, "termination", e.termination)
	b = p.number(b, "retries", e.retries)
	if e.retries == nil {
		return append(b, `,"redispatched":null`...)
	}
	b = append(b, `,"redispatched":`...)
	return strconv.AppendBool(b, e.redispatched)
}

func (p *lineWriter) text(b []byte, name string, value []byte) []byte {
	return appendMember(append(b, ','), name, value)
}

// appendMember writes a member of a JSON object, null where the value is nil.
func appendMember(b []byte, name string, value []byte) []byte {
	b = appendString(b, []byte(name))
	b = append(b, ':')
	if value == nil {
		return append(b, "null"...)
	}
	return appendString(b, value)
}

func (p *lineWriter) decoded(b []byte, name string, value []byte) []byte {
	if value != nil {
		p.scratch = p.entry.escape.decode(p.scratch[:0], value)
		value = p.scratch
	}
	return p.text(b, name, value)
}

// number writes digits as a number, or null where they are none or no port.
func (p *lineWriter) number(b []byte, name string, value []byte) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	n, err := strconv.ParseUint(string(value), 10, 16)
	if err != nil {
		return append(b, "null"...)
	}
	return strconv.AppendUint(b, n, 10)
}

func appendStatus(b []byte, status int) []byte {
	if status == 0 {
		return append(b, "null"...)
	}
	return strconv.AppendInt(b, int64(status), 10)
}

func appendTime(b []byte, micros int64) []byte {
	b = append(b, '"')
	b = time.UnixMicro(micros).UTC().AppendFormat(b, "2006-01-02T15:04:05.000000Z")
	return append(b, '"')
}

// appendString writes a JSON string; bytes that are not UTF-8 become U+FFFD.
func appendString(b, s []byte) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, size := utf8.DecodeRune(s[i:])
			b = utf8.AppendRune(b, r)
			i += size
			continue
		}
		i++
	}
	return append(b, '"')
}

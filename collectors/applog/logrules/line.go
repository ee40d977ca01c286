package logrules

import (
	"cmp"
	"time"

	"gapless/analysis"
)

// Line is one line of a log, with what its source knows of it besides its text.
type Line struct {
	Text   []byte    // without the end of the line
	At     time.Time // zero: read from the text
	Target string    // who wrote it, as its label or its file's name says; empty where neither does
	// Origin is the program that wrote it where the source says so (in the journal
	// SYSLOG_IDENTIFIER): rules about what systemd says are then tried on nothing else.
	Origin string
	ID     string            // the journal's MESSAGE_ID, which is surer than the text
	Fields map[string]string // further fields of a journal entry that has an ID
	// Continues says that the line goes on with the one before it, where the source
	// knows: a message of several lines.
	Continues bool
}

// State is what a stretch of lines leaves behind for the next one of the same stream.
// Its zero value is the start of a stream.
type State struct {
	Last time.Time `json:"last"` // time of the last line that had one
	// Timed says that lines of the stream begin with a time: one that does not goes on
	// with the line before it, as a stack trace does.
	Timed bool `json:"timed,omitempty"`
	// Objects says that JSON objects whose time is known came before any line that begins with
	// one: the stream's lines are objects.
	Objects bool `json:"objects,omitempty"`
}

// Line takes one line apart and adds what it tells to b. A line without a time of its
// own happened when the line before it did.
func (in *Interpreter) Line(b *Batch, s *State, line Line) {
	c := &in.line
	*c = current{in: in, b: b, s: s, line: line, text: line.Text}
	if in.json && len(line.Text) > 0 && line.Text[0] == '{' {
		c.object()
	}
	c.count()
	c.request()
	for i := range in.rules {
		each := &in.rules[i]
		if each.mayMatch(c) {
			c.try(each)
		}
	}
	if c.doubtful != nil {
		c.doubt()
	}
}

// current is the line at hand.
type current struct {
	in     *Interpreter
	b      *Batch
	s      *State
	line   Line
	second *second

	text    []byte // that rules see: the line, or the message of a JSON object
	at      time.Time
	timed   bool   // it has a time of its own
	parsed  bool   // that is known
	width   int    // bytes of text that its time takes
	message []byte // once it was looked for
	origin  string
	found   bool
	isJSON  bool
	// doubtful is the message of an object whose time is known in a stream of lines that begin with
	// one: a line of its own, or of the text before it.
	doubtful []byte
}

// object takes a line for a JSON object that holds time and message.
func (c *current) object() {
	o, ok := parseObject(c.line.Text)
	if !ok {
		return
	}
	dated := (len(o.time) > 0 || !c.line.At.IsZero()) && !c.line.Continues
	if c.s.Timed && !c.in.cfg.Objects && (!c.s.Objects || !dated) {
		if dated {
			c.doubtful = o.message
		}
		return // what a text of several lines quotes is nobody's message
	}
	c.s.Objects = c.s.Objects || dated
	c.isJSON, c.text = true, o.message
	if c.line.At.IsZero() {
		c.parsed = true
		if at, ok := c.in.objectTime(o.time, c.s.Last); ok {
			c.at, c.timed = at, true
			c.s.Last, c.b.lastOf = at, 0
		} else {
			c.in.settle(c.b, c.s)
			c.at = c.s.Last
		}
	}
}

// parse finds the line's time.
func (c *current) parse() {
	if c.parsed {
		return
	}
	c.parsed = true
	at, width, ok := c.in.time(c.text, c.s.Last)
	if ok && !c.isJSON {
		c.width, c.s.Timed = width, true
	}
	switch {
	case !c.line.At.IsZero():
		return // the source's time is the line's
	case ok:
		c.at, c.timed = at, true
		c.s.Last, c.b.lastOf = at, 0
		return
	}
	c.in.settle(c.b, c.s)
	c.at = c.s.Last
}

// count places the line in its second. The lines of a second begin alike: only the
// first of them is parsed for that.
func (c *current) count() {
	b, text := c.b, c.line.Text
	switch {
	case !c.line.At.IsZero():
		c.at, c.timed, c.s.Last = c.line.At, true, c.line.At
		if !c.s.Timed {
			c.parse() // says whether the stream's lines begin with a time
		}
		c.second = b.second(c.at, len(c.in.counted))
	case c.isJSON || c.in.cfg.TimeFormat != nil:
		c.parse()
		c.second = b.second(c.at, len(c.in.counted))
	case b.current == nil || len(text) < len(b.key) || text[4] != '-' || [19]byte(text[:19]) != b.key:
		c.parse()
		b.current = b.second(c.at, len(c.in.counted))
		c.second = b.current
		if c.width > 0 {
			copy(b.key[:], text)
		} else {
			b.key = [19]byte{}
		}
	default:
		b.lastOf = copy(b.last[:], text)
		c.second = b.current
	}
	c.second.lines++
	if c.isJSON {
		c.second.matched[c.in.jsonAt]++
	}
}

// request looks for a request's id.
func (c *current) request() {
	in := c.in
	f, ok := in.answered.find(c.line.Text)
	begun := false
	if ok {
		c.second.matched[0]++
	} else if f, ok = in.received.find(c.line.Text); ok {
		c.second.matched[1]++
		begun = true
	}
	if !ok {
		return
	}
	c.second.probes++
	if !f.ours {
		return
	}
	c.second.matched[2]++
	if c.parse(); c.at.IsZero() {
		c.b.Timeless++
		return
	}
	c.b.Handled = append(c.b.Handled, analysis.HandledRequest{
		Source: in.cfg.Source, Target: in.target(c.line.Target, f.target), Run: f.run, Seq: f.seq, At: c.at, Status: f.status, Begun: begun,
	})
}

// try matches one rule against the line's message.
func (c *current) try(each *rule) {
	c.find()
	if c.continues() && !each.trace {
		return
	}
	f, ok := each.match(c)
	if !ok || each.origin == originSystemd && !c.in.aboutUnit(f.unit) {
		return
	}
	if f.doubtful {
		c.b.Doubtful++
		return
	}
	c.second.matched[each.count]++
	if each.step == "" && each.event == "" {
		return
	}
	if c.at.IsZero() {
		c.b.Timeless++
		return
	}
	c.b.add(c, each, f)
}

// doubt counts a line that would tell something if it were one of its own.
func (c *current) doubt() {
	c.parse()
	s, b := State{}, NewBatch()
	line := c.line
	if line.At.IsZero() {
		line.At = c.at
	}
	if line.At.IsZero() {
		return // no line of the stream has a time yet
	}
	line.Text = c.doubtful
	own := current{in: c.in, b: b, s: &s, line: line, text: c.doubtful, at: line.At, parsed: true, found: true, isJSON: true,
		message: c.doubtful, origin: cmp.Or(line.Origin, originApplication), second: &second{matched: make([]int, len(c.in.counted))}}
	for i := range c.in.rules {
		if each := &c.in.rules[i]; each.mayMatch(&own) {
			own.try(each)
		}
	}
	if b.Rows() > 0 {
		c.b.Doubtful++
	}
}

// continues says that the line goes on with the one before it. Nothing that stands in
// it is a message of its own, so that a text that brings its own line breaks does not
// count as what it quotes.
func (c *current) continues() bool {
	return c.line.Continues || c.s.Timed && c.width == 0 && !c.isJSON && c.origin != originSystemd
}

// find looks for the line's message, once.
func (c *current) find() {
	if c.found {
		return
	}
	c.found = true
	c.parse()
	switch {
	case c.isJSON:
		c.message, c.origin = c.text, cmp.Or(c.line.Origin, originApplication)
	case c.line.Origin == originSystemd:
		c.message, c.origin = c.text, c.line.Origin // the journal keeps the message alone
	default:
		c.message, c.origin = message(c.text, c.width)
		c.origin = cmp.Or(c.line.Origin, c.origin)
	}
}

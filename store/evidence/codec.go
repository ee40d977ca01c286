package evidence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// moment is a time in a record: RFC 3339 in UTC with six decimals, nine where there
// are nanoseconds, null when zero.
type moment struct{ time.Time }

const (
	microLayout = "2006-01-02T15:04:05.000000Z"
	nanoLayout  = "2006-01-02T15:04:05.000000000Z"
)

// MarshalJSON implements json.Marshaler.
func (m moment) MarshalJSON() ([]byte, error) {
	if m.IsZero() {
		return []byte("null"), nil
	}
	t := m.UTC()
	if year := t.Year(); year < 0 || year > 9999 {
		return nil, fmt.Errorf("time of the year %d cannot be written", year)
	}
	layout := microLayout
	if t.Nanosecond()%1000 != 0 {
		layout = nanoLayout
	}
	b := make([]byte, 0, len(nanoLayout)+2)
	b = append(b, '"')
	b = t.AppendFormat(b, layout)
	return append(b, '"'), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *moment) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		m.Time = time.Time{}
		return nil
	}
	if len(b) < 2 || b[0] != '"' {
		return errors.New("a time is not a string")
	}
	t, err := time.Parse(time.RFC3339Nano, string(b[1:len(b)-1]))
	if err != nil {
		return err
	}
	m.Time = t.UTC()
	return nil
}

// span is a length of time in a record, in the unit of its field. Float64 holds
// every nanosecond of a hundred days.
func milliseconds(d time.Duration) float64     { return float64(d) / float64(time.Millisecond) }
func fromMilliseconds(v float64) time.Duration { return fromUnit(v, time.Millisecond) }
func secondsOf(d time.Duration) float64        { return float64(d) / float64(time.Second) }
func fromSeconds(v float64) time.Duration      { return fromUnit(v, time.Second) }

func fromUnit(v float64, unit time.Duration) time.Duration {
	v *= float64(unit)
	if v < 0 {
		return time.Duration(v - 0.5)
	}
	return time.Duration(v + 0.5)
}

// optional is nil for what a record calls null.
func optional[T comparable](v *T) *T {
	var zero T
	if *v == zero {
		return nil
	}
	return v
}

// value is the reverse of optional.
func value[T any](v *T) T {
	if v == nil {
		var zero T
		return zero
	}
	return *v
}

// rawBytes is in every record. JSON has no way to write a string that is not UTF-8,
// and log lines may hold any bytes; such fields stand in it, whole and in base64, by
// their names, and the field itself shows what can be shown of it.
type rawBytes struct {
	Bytes map[string][]byte `json:"bytes,omitempty"`
}

// lineWriter writes records, one a line.
type lineWriter struct {
	w       io.Writer
	buffer  bytes.Buffer
	encoder *json.Encoder
	records int
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w}
	l.encoder = json.NewEncoder(&l.buffer)
	l.encoder.SetEscapeHTML(false)
	return l
}

// encode returns the line of a record, which is good until the next call.
func (w *lineWriter) encode(record any) ([]byte, error) {
	w.buffer.Reset()
	if err := w.encoder.Encode(record); err != nil {
		return nil, err
	}
	return w.buffer.Bytes(), nil
}

func writeRecord[T, R any](w *lineWriter, v *T, of func(*T) (R, error)) error {
	line, err := lineOf(w, v, of)
	if err != nil {
		return err
	}
	if len(line) > maxLine {
		return fmt.Errorf("it takes %d bytes; %d are the most", len(line), maxLine)
	}
	w.records++
	_, err = w.w.Write(line)
	return err
}

// lineOf is the one line that a value has.
func lineOf[T, R any](w *lineWriter, v *T, of func(*T) (R, error)) ([]byte, error) {
	record, err := of(v)
	if err != nil {
		return nil, err
	}
	line, err := w.encode(&record)
	if err != nil || !bytes.Contains(line, replaced) {
		return line, err
	}
	fields := reflect.ValueOf(&record).Elem()
	raw := rawStrings(fields)
	if len(raw) == 0 {
		return line, nil
	}
	field := fields.FieldByName("Bytes")
	if !field.IsValid() {
		return nil, errors.New("it has a string that is not UTF-8")
	}
	field.Set(reflect.ValueOf(raw))
	return w.encode(&record)
}

// replaced is what the encoder writes for a byte that is not UTF-8.
var replaced = []byte(`\ufffd`)

// rawStrings are the strings that are not UTF-8, by their places in the record.
func rawStrings(record reflect.Value) map[string][]byte {
	raw := map[string][]byte{}
	eachString(record, "", func(name string, s reflect.Value) {
		if !utf8.ValidString(s.String()) {
			raw[name] = []byte(s.String())
		}
	})
	return raw
}

// setRaw puts the bytes of a record's strings back.
func setRaw(record reflect.Value, raw map[string][]byte) {
	eachString(record, "", func(name string, s reflect.Value) {
		if b, ok := raw[name]; ok {
			s.SetString(string(b))
		}
	})
}

// eachString visits every string of a record. Its name is its place, such as
// targets[1].name.
func eachString(v reflect.Value, name string, do func(name string, s reflect.Value)) {
	switch v.Kind() {
	case reflect.String:
		do(name, v)
	case reflect.Pointer:
		if !v.IsNil() {
			eachString(v.Elem(), name, do)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachString(v.Index(i), name+"["+strconv.Itoa(i)+"]", do)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case field.Type == reflect.TypeFor[time.Time](): // of a moment
			case field.Anonymous:
				eachString(v.Field(i), name, do)
			case name == "":
				eachString(v.Field(i), key, do)
			default:
				eachString(v.Field(i), name+"."+key, do)
			}
		}
	}
}

// lineReader reads records. Each must be to the byte what this package writes for
// it, so that what is judged is what was hashed, and nothing can hide in a line.
type lineReader struct {
	r         *bufio.Reader
	long      []byte
	again     *lineWriter
	strings   map[string]string // strings that are in many records, each kept once
	records   int               // how many there are
	knownLeft *int              // sequence numbers that may still be read
	line      int
}

// errForm says that a line is not as it is written.
var errForm = errors.New("it is not as gapless writes it")

func readRecord[T, R any](r *lineReader, of func(*T) (R, error), back func(R, *lineReader) (T, error)) (v T, ok bool, err error) {
	line, err := r.next()
	if err != nil || line == nil {
		return v, false, err
	}
	r.line++
	if r.line > r.records {
		return v, false, fmt.Errorf("it has more than the %d records that the manifest says", r.records)
	}
	var record R
	if err := json.Unmarshal(line, &record); err != nil {
		return v, false, fmt.Errorf("line %d: %w", r.line, err)
	}
	if bytes.Contains(line, replaced) {
		fields := reflect.ValueOf(&record).Elem()
		if field := fields.FieldByName("Bytes"); field.IsValid() {
			setRaw(fields, field.Interface().(map[string][]byte))
		}
	}
	if v, err = back(record, r); err == nil {
		err = sound(&v)
	}
	if err != nil {
		return v, false, fmt.Errorf("line %d: %w", r.line, err)
	}
	again, err := lineOf(r.again, &v, of)
	if err == nil && !bytes.Equal(again, line) {
		err = errForm
	}
	if err != nil {
		return v, false, fmt.Errorf("line %d: %w", r.line, err)
	}
	return v, true, nil
}

// next is the next line with its end; nil after the last.
func (r *lineReader) next() ([]byte, error) {
	r.long = r.long[:0]
	for {
		part, err := r.r.ReadSlice('\n')
		if len(r.long)+len(part) > maxLine {
			return nil, fmt.Errorf("line %d is longer than %d bytes", r.line+1, maxLine)
		}
		switch {
		case err == nil && len(r.long) == 0:
			return part, nil
		case err == nil:
			r.long = append(r.long, part...)
			return r.long, nil
		case errors.Is(err, bufio.ErrBufferFull):
			r.long = append(r.long, part...)
		case errors.Is(err, io.EOF) && len(r.long)+len(part) == 0:
			return nil, nil
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("line %d has no end", r.line+1)
		default:
			return nil, err
		}
	}
}

// maxStrings bounds the strings that are remembered.
const maxStrings = 1 << 16

// name returns s, as the one copy that there is of it where it is one of many.
func (r *lineReader) name(s string) string {
	if s == "" {
		return ""
	}
	if kept, ok := r.strings[s]; ok {
		return kept
	}
	if len(r.strings) < maxStrings {
		r.strings[s] = s
	}
	return s
}

// names does the same for what may be null.
func (r *lineReader) names(s *string) string {
	if s == nil {
		return ""
	}
	return r.name(*s)
}

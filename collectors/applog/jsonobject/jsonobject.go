// Package jsonobject takes the outermost members of a JSON object apart without
// decoding them, for log lines of which only a few are of interest.
//
// What belongs here: where keys and values begin and end. What they mean is the
// caller's business.
package jsonobject

import (
	"bytes"
	"encoding/json"
)

// Text is a JSON string's content; false where value is no string.
func Text(value []byte) ([]byte, bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	if plain := value[1 : len(value)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return plain, true
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		return nil, false
	}
	return []byte(s), true
}

// Members calls take with the key and the value of every member of an object; a key
// that is escaped is as it stood. It returns false where line is not one whole object.
// Values are cut out, not
// checked: a number may be any run of characters.
func Members(line []byte, take func(key, value []byte)) bool {
	at := space(line, 0)
	if at >= len(line) || line[at] != '{' {
		return false
	}
	at = space(line, at+1)
	if at < len(line) && line[at] == '}' {
		return space(line, at+1) == len(line)
	}
	for {
		end := quoted(line, at)
		if end < 0 {
			return false
		}
		key := line[at+1 : end-1]
		if at = space(line, end); at >= len(line) || line[at] != ':' {
			return false
		}
		at = space(line, at+1)
		if end = value(line, at); end < 0 {
			return false
		}
		take(key, line[at:end])
		if at = space(line, end); at >= len(line) {
			return false
		}
		switch line[at] {
		case '}':
			return space(line, at+1) == len(line)
		case ',':
			at = space(line, at+1)
		default:
			return false
		}
	}
}

func space(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\t' || b[at] == '\r' || b[at] == '\n') {
		at++
	}
	return at
}

// quoted is where the string ends that begins at a place; -1 where there is none.
func quoted(b []byte, at int) int {
	if at >= len(b) || b[at] != '"' {
		return -1
	}
	for at++; at < len(b); at++ {
		switch b[at] {
		case '"':
			return at + 1
		case '\\':
			at++
		}
	}
	return -1
}

// value is where the value ends that begins at a place; -1 where it does not.
func value(b []byte, at int) int {
	if at >= len(b) {
		return -1
	}
	switch b[at] {
	case '"':
		return quoted(b, at)
	case '{', '[':
		depth := 0
		for at < len(b) {
			switch b[at] {
			case '"':
				if at = quoted(b, at); at < 0 {
					return -1
				}
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
			at++
		}
		return -1
	}
	begin := at
	for at < len(b) && b[at] != ',' && b[at] != '}' && b[at] != ']' && b[at] > ' ' {
		at++
	}
	if at == begin {
		return -1
	}
	return at
}

// Elements calls take with every element of an array. It returns false where value is
// not one whole array. Elements are cut out, not checked.
func Elements(array []byte, take func(element []byte)) bool {
	at := space(array, 0)
	if at >= len(array) || array[at] != '[' {
		return false
	}
	at = space(array, at+1)
	if at < len(array) && array[at] == ']' {
		return space(array, at+1) == len(array)
	}
	for {
		end := value(array, at)
		if end < 0 {
			return false
		}
		take(array[at:end])
		if at = space(array, end); at >= len(array) {
			return false
		}
		switch array[at] {
		case ']':
			return space(array, at+1) == len(array)
		case ',':
			at = space(array, at+1)
		default:
			return false
		}
	}
}

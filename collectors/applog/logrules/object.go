package logrules

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"gapless/collectors/applog/jsonobject"
)

// object is a log line that is a JSON object, as logback (logstash-encoder), Spring
// Boot's structured logging, log4j2, zap, slog, bunyan and pino write it. Its values
// are as they stood, but for the message, which is text.
type object struct {
	time    []byte
	message []byte
	level   []byte
	logger  []byte
}

// keys of a JSON log line, the first that is there first.
var (
	timeKeys    = []string{"@timestamp", "timestamp", "time", "ts", "instant", "timeMillis", "datetime", "date", "t"}
	messageKeys = []string{"message", "msg", "@message", "short_message"}
	levelKeys   = []string{"level", "log.level", "severity", "levelname", "lvl", "_level_name"}
	loggerKeys  = []string{"logger_name", "logger", "log.logger", "loggerName", "_log_logger", "name"}
)

// parseObject takes the outermost members of an object. A line that is no whole
// object, or has no message, is taken as text.
func parseObject(line []byte) (o object, ok bool) {
	ranks := [4]int{len(timeKeys), len(messageKeys), len(levelKeys), len(loggerKeys)}
	var message []byte
	fields := [4]*[]byte{&o.time, &message, &o.level, &o.logger}
	ok = jsonobject.Members(line, func(key, value []byte) {
		for i, keys := range [4][]string{timeKeys, messageKeys, levelKeys, loggerKeys} {
			for rank, name := range keys {
				if rank < ranks[i] && string(key) == name {
					ranks[i], *fields[i] = rank, value
				}
			}
		}
	})
	if !ok || message == nil {
		return object{}, false
	}
	o.message, ok = jsonobject.Text(message)
	return o, ok
}

// objectTime reads an object's time: text in a form that lines begin with, a number
// of seconds, milli-, micro- or nanoseconds since 1970 (by its size), or log4j2's
// instant.
func (in *Interpreter) objectTime(value []byte, last time.Time) (time.Time, bool) {
	switch {
	case len(value) == 0:
		return time.Time{}, false
	case value[0] == '"':
		plain, ok := jsonobject.Text(value)
		if !ok {
			return time.Time{}, false
		}
		at, _, ok := in.time(plain, last)
		if !ok {
			return number(plain) // as text
		}
		return at, true
	case value[0] == '{':
		var instant struct {
			EpochSecond  int64 `json:"epochSecond"`
			NanoOfSecond int64 `json:"nanoOfSecond"`
		}
		if json.Unmarshal(value, &instant) != nil || instant.EpochSecond <= 0 || instant.EpochSecond > latest || instant.NanoOfSecond < 0 || instant.NanoOfSecond >= 1e9 {
			return time.Time{}, false
		}
		return time.Unix(instant.EpochSecond, instant.NanoOfSecond).UTC().Truncate(time.Microsecond), true
	}
	return number(value)
}

// latest is the last second that is taken for a time: of the year 9998.
const latest = 253_370_764_799

// number reads a time that is counted from 1970.
func number(b []byte) (time.Time, bool) {
	whole, fraction, _ := bytes.Cut(b, []byte("."))
	n, err := strconv.ParseInt(string(whole), 10, 64)
	if err != nil { // 1.697e9 and the like
		f, err := strconv.ParseFloat(string(b), 64)
		if err != nil || !(f > 0 && f < latest) {
			return time.Time{}, false
		}
		seconds, rest := math.Modf(f)
		return time.Unix(int64(seconds), int64(rest*1e9)).UTC().Truncate(time.Microsecond), true
	}
	switch {
	case n <= 0:
		return time.Time{}, false
	case n < 1e11:
		nanos := 0
		scale := 100_000_000
		for _, c := range fraction {
			if c < '0' || c > '9' {
				return time.Time{}, false
			}
			nanos += int(c-'0') * scale
			scale /= 10
		}
		return time.Unix(n, int64(nanos)).UTC().Truncate(time.Microsecond), true
	case n < 1e14:
		return time.UnixMilli(n).UTC(), true
	case n < 1e17:
		return time.UnixMicro(n).UTC(), true
	}
	return time.Unix(0, n).UTC().Truncate(time.Microsecond), true
}

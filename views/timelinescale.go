package views

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// scale places moments on the x axis and into columns of equal length.
type scale struct {
	from, to time.Time     // the picture
	seen     time.Time     // nothing is known of the time after it
	first    time.Time     // where the first column begins
	step     time.Duration // of one column
	columns  int
	zone     *time.Location
	left     float64 // x of the plot's left edge
}

// newScale has the finest columns that the picture can show.
func newScale(from, to time.Time, zone *time.Location) scale {
	step := max((to.Sub(from)+maxColumns-1)/maxColumns, time.Millisecond)
	return scale{from: from, to: to, seen: to, first: from, step: step, columns: max(int((to.Sub(from)+step-1)/step), 1), zone: zone, left: plotLeft}
}

// wholeSeconds has columns of whole seconds, so that what is counted by the second
// falls evenly into them. They begin with the first second that starts in the window,
// which is where counting by the second begins; the last column may be cut short.
func (s scale) wholeSeconds() scale {
	s.step = max((s.to.Sub(s.from)/maxColumns + time.Second - 1).Truncate(time.Second), time.Second)
	s.first = s.from.Add(time.Second - 1).Truncate(time.Second)
	s.columns = max(int((s.to.Sub(s.first)+s.step-1)/s.step), 1)
	return s
}

func (s scale) share(t time.Time) float64 {
	whole := s.to.Sub(s.from)
	if whole <= 0 {
		return 0
	}
	return min(max(float64(t.Sub(s.from))/float64(whole), 0), 1)
}

func (s scale) x(t time.Time) float64 { return s.left + (plotRight-s.left)*s.share(t) }

// holds says whether t lies in the picture.
func (s scale) holds(t time.Time) bool { return !t.Before(s.from) && !t.After(s.to) }

// column is the column that t falls into, or -1 outside the window.
func (s scale) column(t time.Time) int {
	if t.Before(s.first) || !t.Before(s.to) {
		return -1
	}
	return min(int(t.Sub(s.first)/s.step), s.columns-1)
}

// columnStart is where a column begins, and where the one before it ends.
func (s scale) columnStart(i int) time.Time {
	return earlier(s.first.Add(time.Duration(i)*s.step), s.to)
}

// columnSeconds is how many seconds begin in a column and in the window: a second
// that has begun is counted whole.
func (s scale) columnSeconds(i int) float64 {
	return max(math.Ceil(s.columnStart(i+1).Sub(s.columnStart(i)).Seconds()), 1)
}

// bar draws [from, to) as far as it has been seen, at least a pixel and a half wide so
// that nothing vanishes.
func (s scale) bar(from, to time.Time, class, title string) Bar {
	x := s.x(from)
	if s.seen.Before(s.to) && !from.Before(s.seen) {
		return Bar{X: coordinate(s.x(s.seen)), W: "0", Class: class, Title: title, LabelX: coordinate(s.x(s.seen))}
	}
	to = earlier(to, s.seen)
	w := max(s.x(to)-x, 1.5)
	return Bar{X: coordinate(x), W: coordinate(min(w, plotRight-min(x, plotRight-1.5))), Class: class, Title: title, LabelX: coordinate(x + w/2)}
}

func (s scale) span(from, to time.Time) string {
	return from.In(s.zone).Format("15:04:05") + "–" + to.In(s.zone).Format("15:04:05")
}

func coordinate(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// fits says whether a label of 11.5 px fits into a width.
func fits(label, width string) bool {
	w, err := strconv.ParseFloat(width, 64)
	return err == nil && float64(len([]rune(label)))*6.3+8 <= w
}

// flag marks a moment, with its label on the side that has room.
func (s scale) flag(t time.Time, label, class string, y1, y2 int) Flag {
	x := s.x(t)
	f := Flag{X: coordinate(x), Label: label, Class: class, Y1: y1, Y2: y2, Anchor: "start", LabelX: coordinate(x + 5),
		Title: label + " " + t.In(s.zone).Format("15:04:05.000")}
	if x > plotRight-120 {
		f.Anchor, f.LabelX = "end", coordinate(x-5)
	}
	return f
}

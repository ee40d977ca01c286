package loki

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"time"
)

// Bounds of what is asked for at once. longestSpan is what a Loki allows unless it is
// told otherwise (721 hours), rounded down; shortestSpan what is given up at.
const (
	mostEntries  = 1 << 18
	longestSpan  = 720 * time.Hour
	shortestSpan = time.Second
)

// clampedAt is the smallest number of lines that a server, or something before it,
// may have cut a reply to without saying so: a reply that is shorter than was asked
// for, yet has as many lines, is not taken for the end.
const clampedAt = 100

// lookBack is how far before a nanosecond lines are looked for that show how many a
// server gives.
var lookBack = []time.Duration{10 * time.Second, 10 * time.Minute, 6 * time.Hour}

// How often a question is asked that may be answered later, and how long is waited
// in between: at first, and at most.
const (
	patience     = 5
	firstPause   = 500 * time.Millisecond
	longestPause = time.Minute
)

// limits are what may be asked for at once. They shrink with what the server refuses.
type limits struct {
	entries int           // usually
	most    int           // where that does not suffice
	span    time.Duration // for the time being
	longest time.Duration
}

// cursor is where paging goes on: everything before next was read, and of that
// nanosecond the entries in seen, so many times each.
type cursor struct {
	next int64
	seen map[key]int
}

// stretch is what one reply brought.
type stretch struct {
	entries []entry // not read before, in order of their times
	next    cursor
	// cut says that the nanosecond at which the stretch began has more entries than
	// may be asked for; paging leaves it.
	cut bool
}

// mostSeen bounds how many entries of a nanosecond are told from others by a cursor,
// which is stored: where a reply ends with more of them, all of them are read again.
const mostSeen = 1000

// step reads on from a cursor, as far as one reply goes.
//
// A reply holds the earliest entries of its range, as many as were asked for. One
// that is full may end in the middle of a nanosecond: the next one begins there once
// more, and what was read of it is told by labels and text. Lines that are alike in
// time, labels and text count as often as they are there.
func (r *Reader) step(ctx context.Context, c cursor, to int64) (stretch, error) {
	limit, fits := r.limits.entries, mostEntries
	for {
		stop := min(to, c.next+int64(r.limits.span))
		p, err := r.ask(ctx, c.next, stop, limit)
		if err != nil {
			if !r.adapt(err, stop-c.next, &limit, &fits) {
				return stretch{}, err
			}
			continue
		}
		within := p.within(c.next, stop)
		if len(p.entries) > 0 && len(within) == 0 {
			return stretch{}, badReply{errors.New("it holds only lines of other times than were asked for")}
		}
		cut := len(p.entries) >= min(limit, clampedAt)
		if !cut {
			r.limits.span = min(2*r.limits.span, r.limits.longest)
			return stretch{entries: c.without(within), next: cursor{next: stop}}, nil
		}
		if last := within[len(within)-1].at; last > c.next {
			return c.upTo(last, within), nil
		}
		if len(p.entries) < limit {
			whole, err := r.gives(ctx, c.next, len(p.entries)+1)
			if err != nil {
				return stretch{}, err
			}
			if whole {
				return stretch{entries: c.without(within), next: cursor{next: stop}}, nil
			}
		}
		if larger := min(2*limit, r.limits.most, fits); larger > limit {
			limit = larger
			continue
		}
		return stretch{entries: c.without(within), next: cursor{next: c.next + 1}, cut: true}, nil
	}
}

// upTo is the stretch of a reply that may go on at the time of its last entry.
func (c cursor) upTo(last int64, within []entry) stretch {
	border := len(within)
	for border > 0 && within[border-1].at == last {
		border--
	}
	next := cursor{next: last, seen: map[key]int{}}
	if len(within)-border > mostSeen {
		return stretch{entries: c.without(within[:border]), next: next}
	}
	for i := border; i < len(within); i++ {
		next.seen[within[i].key()]++
	}
	return stretch{entries: c.without(within), next: next}
}

// gives says that this server gives n lines at once, by asking for those before a
// nanosecond too. A shorter reply of nothing but that nanosecond is then all of it;
// else something may cut replies to just as many.
func (r *Reader) gives(ctx context.Context, at int64, n int) (bool, error) {
	for _, back := range lookBack {
		back = min(back, r.limits.longest-1)
		p, err := r.ask(ctx, at-int64(back), at+1, n)
		if refused, ok := errors.AsType[*refused](err); ok && (refused.status/100 == 4 || tooMuch(err)) && !passing(err) || errors.Is(err, errTooLarge) {
			return false, nil // it says nothing about how many lines it gives
		}
		if err != nil {
			return false, err
		}
		if len(p.entries) >= n {
			return true, nil
		}
	}
	return false, nil
}

// adapt makes the next question smaller where an error says that this one was too
// large; fits is how many entries a reply may have to be held in memory.
func (r *Reader) adapt(err error, length int64, limit, fits *int) bool {
	if most := limitOfEntries(err); most > 0 && most < *limit {
		r.limits.most, r.limits.entries = most, min(r.limits.entries, most)
		*limit = most
		return true
	}
	if longest := limitOfLength(err); longest > 0 && int64(longest) < length {
		r.limits.longest, r.limits.span = longest, longest
		return true
	}
	if errors.Is(err, errTooLarge) && *limit > 1 {
		*limit /= 2
		*fits = *limit
		return true
	}
	if tooMuch(err) && length > int64(shortestSpan) {
		r.limits.span = time.Duration(length / 2)
		return true
	}
	return false
}

// ask asks until there is an answer, or patience is at its end.
func (r *Reader) ask(ctx context.Context, from, to int64, limit int) (*page, error) {
	pause := firstPause
	for tries := 1; ; tries++ {
		p, err := r.client.ask(ctx, from, to, limit)
		if err == nil || tries == patience || !passing(err) || tooMuch(err) && to-from > int64(shortestSpan) {
			return p, err
		}
		wait := pause/2 + rand.N(pause) //nolint:gosec // spreads the load, nothing else
		if told, ok := errors.AsType[*refused](err); ok && told.after > 0 {
			if wait = told.after; wait > longestPause {
				return nil, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
		pause *= 2
	}
}

// within are the entries of [from, to): a server may add others.
func (p *page) within(from, to int64) []entry {
	first, last := 0, len(p.entries)
	for first < last && p.entries[first].at < from {
		first++
	}
	for last > first && p.entries[last-1].at >= to {
		last--
	}
	return p.entries[first:last]
}

// without leaves out what was read before.
func (c cursor) without(entries []entry) []entry {
	if len(c.seen) == 0 {
		return entries
	}
	seen := maps.Clone(c.seen)
	border := 0
	var fresh []entry
	for ; border < len(entries) && entries[border].at == c.next; border++ {
		if k := entries[border].key(); seen[k] > 0 {
			seen[k]--
			continue
		}
		fresh = append(fresh, entries[border])
	}
	return append(fresh, entries[border:]...)
}

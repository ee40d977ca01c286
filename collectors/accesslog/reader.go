package accesslog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"gapless/analysis"
	"gapless/collectors/follow"
)

// Sink stores what a Reader reads. Every call is one transaction, and doing it
// again changes nothing.
type Sink interface {
	// AddObject stores an object's batch under its name; a failed or partial one is
	// replaced by a later better one, and any by one of another version.
	AddObject(ctx context.Context, service string, b analysis.ObjectBatch) (stored bool, err error)
	// ReadObjects answers the versions, by name, of objects wholly read whose period
	// meets the span.
	ReadObjects(ctx context.Context, service, source string, from, to time.Time) (map[string]string, error)
	// ObjectKeys answers the keys of the objects that were wholly read, of any time, and
	// when the last row of each is; zero where it has none.
	ObjectKeys(ctx context.Context, service, source string) (map[string]time.Time, error)
	// Places answers which text each path of a followed log led to at the last look, as
	// KeepPlaces stored it. What is not in places stays as it was.
	Places(ctx context.Context, service, source string) (map[string]string, error)
	KeepPlaces(ctx context.Context, service, source string, places map[string]string) error
	// CutObjects answers the versions, by name, of objects that were not read to an end
	// that is known.
	CutObjects(ctx context.Context, service, source string) (map[string]string, error)
	// AddRun stores one attempt.
	AddRun(ctx context.Context, service string, run analysis.Run) error
}

// Config says which log to read and how. Service, Source, Kind and URL must be set.
type Config struct {
	Service string         // whose log it is
	Source  string         // the log's name in the configuration
	Kind    string         // one of Formats
	URL     string         // s3://bucket/prefix, or file:///folder (a folder or one file; of proxies a pattern)
	Format  string         // of nginx: combined, main, or a log_format's text; empty: combined
	Zone    *time.Location // of times that name no offset; UTC where nil

	Region, Profile, Role, Endpoint string // of S3; empty: the SDK's own

	Every    time.Duration // between two passes of Run; 30 s where 0, of files that are followed 5 s
	Settle   time.Duration // how late objects may come; 15 min where 0
	Lookback time.Duration // how far back Run lists; Settle and an hour where 0
	Late     time.Duration // how far back it lists once an hour, for what came later still; UsualLate where 0
	Since    time.Time     // until when an earlier process collected: Run goes on from there, however long ago; zero: none did
	Began    time.Time     // since when one collected: Run looks no further back; zero: this is the first
	Slow     time.Duration // requests that took at least this long are kept one by one; 1 s where 0
	Parallel int           // objects read at once; as many as there are processors where 0

	Match Match
	Now   func() time.Time // time.Now where nil
	Log   *slog.Logger     // slog.Default() where nil
	S3    S3               // made from the fields above where nil
}

// Reader reads one access log. It is safe for concurrent use.
type Reader struct {
	cfg   Config
	rules *analysis.Classifier
	sink  Sink
	place place

	pattern   string // of the files that are followed, else empty
	following sync.Mutex
	files     *follow.Files     // nil until the first pass
	running   bool              // Run does: files stay open between passes
	places    map[string]string // as they were stored last

	mu      sync.Mutex
	retries map[string]retry  // of objects that were not read wholly, by key
	read    map[string]string // versions of plain files that this Reader has read, by key
}

// retry says when to read an object again that could not be read wholly.
type retry struct {
	object   stored
	attempts int
	after    time.Time
}

// New makes a Reader. It reads nothing yet; with S3 it loads the AWS configuration.
func New(ctx context.Context, cfg Config, c *analysis.Classifier, sink Sink) (*Reader, error) {
	if Follows(cfg.Kind) {
		cfg.Every = orDefault(cfg.Every, 5*time.Second)
	}
	cfg.Every = orDefault(cfg.Every, 30*time.Second)
	cfg.Settle = orDefault(cfg.Settle, 15*time.Minute)
	cfg.Lookback = orDefault(cfg.Lookback, cfg.Settle+time.Hour)
	cfg.Late = orDefault(cfg.Late, UsualLate)
	cfg.Slow = orDefault(cfg.Slow, time.Second)
	cfg.Parallel = orDefault(cfg.Parallel, runtime.GOMAXPROCS(0))
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	if _, err := newFormat(&cfg); err != nil {
		return nil, fmt.Errorf("access log %s: %w", cfg.Source, err)
	}
	r := &Reader{cfg: cfg, rules: c, sink: sink, retries: map[string]retry{}, read: map[string]string{}}
	if Follows(cfg.Kind) {
		var ok bool
		if r.pattern, ok = strings.CutPrefix(cfg.URL, "file://"); !ok || !strings.HasPrefix(r.pattern, "/") {
			return nil, fmt.Errorf("access log %s: url %q is not file:///path", cfg.Source, cfg.URL)
		}
		r.pattern = filepath.FromSlash(r.pattern)
		return r, nil
	}
	scheme, rest, _ := strings.Cut(cfg.URL, "://") // names of folders and keys stand as they are, whatever they hold
	name, prefix, _ := strings.Cut(rest, "/")
	switch {
	case scheme == "s3" && name != "":
		client := cfg.S3
		if client == nil {
			var err error
			if client, err = newS3(ctx, &cfg); err != nil {
				return nil, fmt.Errorf("access log %s: %w", cfg.Source, err)
			}
		}
		r.place = &bucket{client: client, name: name, prefix: prefix, wait: waitToResume, limits: usualLimits}
	case scheme == "file" && name == "" && rest != "":
		r.place = folder{root: filepath.FromSlash(rest)}
	default:
		return nil, fmt.Errorf("access log %s: url %q is neither s3://bucket/prefix nor file:///folder", cfg.Source, cfg.URL)
	}
	return r, nil
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// logOf is which of the logs that lie in one folder a kind reads.
func logOf(kind string) string {
	switch kind {
	case KindALBHealth:
		return logHealth
	case KindALBConnections:
		return logConnection
	}
	return logAccess
}

// Collect makes one pass over [from, to]: it lists the objects that may hold requests
// that started or ended then, reads those that were not read before, and stores each
// with what it held. progress, which may be nil, hears how many of the new objects
// are done and how many compressed bytes they had; calls do not overlap.
//
// A run is always stored, unless ctx ended. Where objects could not be read there is
// a second, failed run over the time that they should hold; the others are stored
// all the same.
func (r *Reader) Collect(ctx context.Context, from, to time.Time, progress func(done, total int, bytes int64)) error {
	defer r.letGo()
	return r.pass(ctx, spanOfPass(from, to), progress)
}

// passSpan is the time that a pass is about.
type passSpan struct {
	from, to time.Time // which its run vouches for
	newFrom  time.Time // what lies before was listed by an earlier pass, and a failure to list leaves only the rest unseen
	lookFrom time.Time // objects are looked for from here on; not after from
}

func spanOfPass(from, to time.Time) passSpan {
	return passSpan{from: from, to: to, newFrom: from, lookFrom: from}
}

// pass is Collect over a span.
func (r *Reader) pass(ctx context.Context, s passSpan, progress func(done, total int, bytes int64)) error {
	if r.pattern != "" {
		return r.followed(ctx, s, progress)
	}
	todo, err := r.find(ctx, s.lookFrom, s.to)
	if err != nil {
		return r.failed(ctx, s.newFrom, s.to, time.Time{}, err)
	}
	total := pass{reader: r, total: len(todo), progress: progress, span: s}
	group, work := errgroup.WithContext(ctx)
	group.SetLimit(r.cfg.Parallel)
	if progress != nil {
		progress(0, len(todo), 0)
	}
	for _, each := range todo {
		if work.Err() != nil { // one failed, or ctx ended: the rest need not be tried
			break
		}
		group.Go(func() error { return total.object(work, each) })
	}
	err = group.Wait()
	if err == nil {
		err = ctx.Err() // it may have ended between two objects
	}
	if err != nil { // the store failed, or ctx ended
		return r.failed(ctx, s.newFrom, s.to, time.Time{}, err)
	}
	run := analysis.Run{Source: r.cfg.Source, Kind: r.cfg.Kind, From: s.from, To: s.to, At: r.cfg.Now(), Rows: total.rows}
	if err := r.sink.AddRun(ctx, r.cfg.Service, run); err != nil {
		return fmt.Errorf("store run: %w", err)
	}
	if total.failed > 0 {
		err := fmt.Errorf("%d of %d objects could not be read, first %w", total.failed, len(todo), total.failure)
		return r.failed(ctx, total.from, total.to, run.At, err)
	}
	return nil
}

// failed stores a failed run and answers its error. after, where set, is the moment
// of a run that this one must follow.
func (r *Reader) failed(ctx context.Context, from, to, after time.Time, err error) error {
	if ctx.Err() != nil { // told to stop, which leaves no hole
		return context.Cause(ctx)
	}
	now := r.cfg.Now()
	if !now.After(after) {
		now = after.Add(time.Microsecond)
	}
	run := analysis.Run{Source: r.cfg.Source, Kind: r.cfg.Kind, From: from, To: to, At: now, Code: codeOf(err), Error: err.Error()}
	if stored := r.sink.AddRun(ctx, r.cfg.Service, run); stored != nil {
		return errors.Join(err, fmt.Errorf("store failed run: %w", stored))
	}
	return err
}

// pass sums up what one pass read.
type pass struct {
	reader   *Reader
	total    int
	progress func(done, total int, bytes int64)

	span passSpan

	mu       sync.Mutex
	done     int
	bytes    int64
	rows     int
	failed   int
	failure  error
	from, to time.Time // what failed objects should hold
}

// object reads one object and stores it. The error is the store's, or ctx's: an
// object that can't be read is stored as such.
func (p *pass) object(ctx context.Context, c candidate) error {
	r := p.reader
	batch, failure := r.roll(ctx, c)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, err := r.sink.AddObject(ctx, r.cfg.Service, batch); err != nil {
		return fmt.Errorf("store object %s: %w", c.key, err)
	}
	whole := failure == nil && !batch.Partial
	r.settle(c, whole)
	if batch.Partial {
		r.cfg.Log.Warn("log object is cut short", "service", r.cfg.Service, "source", r.cfg.Source, "object", c.key, "lines", batch.Object.Lines)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.bytes += c.size
	p.rows += batch.Understood
	if failure != nil {
		from, to := batch.From, batch.To
		if from.IsZero() { // its name does not say what it should hold
			from, to = p.span.from, p.span.to
		}
		if p.failed == 0 || from.Before(p.from) {
			p.from = from
		}
		if p.failed == 0 || to.After(p.to) {
			p.to = to
		}
		if p.failed == 0 {
			p.failure = failure
		}
		p.failed++
	}
	if p.progress != nil {
		p.progress(p.done, p.total, p.bytes)
	}
	return nil
}

// settle remembers what is to be read again and when: after a minute, two, four, up
// to an hour, and at once where the object has changed.
func (r *Reader) settle(c candidate, whole bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if whole {
		delete(r.retries, c.key)
		if !c.name.known {
			r.read[c.key] = c.version()
		}
		return
	}
	again := r.retries[c.key]
	if again.object != c.stored {
		again = retry{object: c.stored}
	}
	again.after = r.cfg.Now().Add(min(time.Minute<<min(again.attempts, 6), time.Hour))
	again.attempts++
	r.retries[c.key] = again
}

package lab

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver
)

// The job of the fourth report: an agent that reads invoices from a mailbox, matches
// them to orders and calls the market's API for each, every 60 s. Here it is every 4 s.
const (
	invoiceAgent = "invoice-agent-tick"
	agentEvery   = 4 * time.Second
	agentTakes   = time.Second // so that two that begin a little apart meet
	// lockAtMost is the lease: who holds the lock for longer passes for dead. That
	// report's is five periods.
	lockAtMost = 5 * agentEvery
	// lockAtLeast keeps an instance whose clock is late from finding the lock free
	// again, since the work is done sooner than clocks differ.
	lockAtLeast = agentEvery / 2
)

// openShared opens the database that all instances of the application share.
func openShared(path string) (*sql.DB, error) {
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open the shared database: %w", err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// schedule is the application's scheduler. It asks no load balancer: it runs its job
// at every full period of the clock for as long as the process lives.
type schedule struct {
	db   *sql.DB
	who  string // instance
	lock bool   // ask for the job's lock before every run
	say  func(message string)
}

// schedule starts the application's job, if it has one. It ends with ctx; ended waits
// for a run that is under way.
func (n *node) schedule(ctx context.Context) (ended func(), err error) {
	if n.shared == "" {
		return func() {}, nil
	}
	db, err := openShared(n.shared)
	if err != nil {
		return nil, err
	}
	s := &schedule{db: db, who: n.name, lock: n.lock, say: func(message string) {
		n.say("scheduling-1", "com.example.orders.invoice.InvoiceAgent", message)
	}}
	var running sync.WaitGroup
	running.Go(func() { s.run(ctx) })
	return func() {
		running.Wait()
		_ = db.Close()
	}, nil
}

// run returns when ctx has ended and the run under way is over.
func (s *schedule) run(ctx context.Context) {
	for {
		at := time.Now().Truncate(agentEvery).Add(agentEvery)
		if sleep(ctx, time.Until(at)) != nil {
			return
		}
		s.tick(at.UnixMilli() / agentEvery.Milliseconds())
	}
}

// tick is one run. An error is the application's to log, as it would be there.
func (s *schedule) tick(number int64) {
	about := fmt.Sprintf("job=%s run=%d", invoiceAgent, number)
	if s.lock {
		switch got, err := s.acquire(time.Now()); {
		case err != nil:
			s.say(about + " failed: " + err.Error())
			return
		case !got:
			s.say(about + " skipped: another instance holds the lock")
			return
		}
	}
	s.say(about + " began")
	sent, err := s.sendInvoices()
	if err != nil {
		s.say(about + " failed: " + err.Error())
	} else {
		s.say(fmt.Sprintf("%s ended, %d invoices sent", about, sent))
	}
	if s.lock {
		if err := s.release(time.Now()); err != nil {
			s.say(about + " failed: " + err.Error())
		}
	}
}

// acquire takes the job's lock if nobody holds it. It is one statement: between two,
// a second instance would find the lock free as well.
func (s *schedule) acquire(now time.Time) (bool, error) {
	result, err := s.db.Exec(`UPDATE scheduler_lock SET locked_until = ?, locked_at = ?, locked_by = ? WHERE lock_name = ? AND locked_until <= ?`,
		now.Add(lockAtMost).UnixMicro(), now.UnixMicro(), s.who, invoiceAgent, now.UnixMicro())
	if err != nil {
		return false, fmt.Errorf("acquire lock %s: %w", invoiceAgent, err)
	}
	rows, err := result.RowsAffected()
	return rows == 1, err
}

// release gives the lock back, if it is still this instance's.
func (s *schedule) release(now time.Time) error {
	_, err := s.db.Exec(`UPDATE scheduler_lock SET locked_until = max(?, locked_at + ?) WHERE lock_name = ? AND locked_by = ?`,
		now.UnixMicro(), lockAtLeast.Microseconds(), invoiceAgent, s.who)
	if err != nil {
		return fmt.Errorf("release lock %s: %w", invoiceAgent, err)
	}
	return nil
}

// sendInvoices sends what nobody has sent yet. Two instances that do so at the same
// time both find the same invoices.
func (s *schedule) sendInvoices() (int, error) {
	waiting, err := waitingInvoices(s.db)
	if err != nil {
		return 0, err
	}
	time.Sleep(agentTakes) // the mail server, and the market's API
	tx, err := s.db.Begin()
	if err != nil {
		return 0, fmt.Errorf("send invoices: %w", err)
	}
	defer tx.Rollback()
	for _, id := range waiting {
		_, err := tx.Exec(`INSERT INTO shipment (invoice, sent_by, sent_at) VALUES (?, ?, ?)`, id, s.who, time.Now().UnixMicro())
		if err != nil {
			return 0, fmt.Errorf("send invoice %d: %w", id, err)
		}
		if _, err := tx.Exec(`UPDATE invoice SET sent = 1 WHERE id = ?`, id); err != nil {
			return 0, fmt.Errorf("send invoice %d: %w", id, err)
		}
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("send invoices: %w", err)
	}
	return len(waiting), nil
}

func waitingInvoices(db *sql.DB) (ids []int64, err error) {
	rows, err := db.Query(`SELECT id FROM invoice WHERE sent = 0 ORDER BY id`)
	if err != nil {
		return nil, fmt.Errorf("read invoices: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read invoices: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// mailbox is the other side: invoices that come in, and what the market was told.
type mailbox struct {
	db   *sql.DB
	path string
	end  InvoiceTruth // what was true when it was closed
	err  error
}

// InvoiceTruth counts the invoices that a scheduled job sent.
type InvoiceTruth struct {
	Sent  int // invoices that were sent at all
	Twice int // of them, those sent more than once
	By    map[string]int
}

const mailEvery = 200 * time.Millisecond

func openMailbox(path string) (*mailbox, error) {
	db, err := openShared(path)
	if err != nil {
		return nil, err
	}
	// The lock's row is there from the start: a job whose row is missing never runs.
	_, err = db.Exec(`
		CREATE TABLE scheduler_lock (lock_name TEXT PRIMARY KEY, locked_until INTEGER NOT NULL, locked_at INTEGER NOT NULL, locked_by TEXT NOT NULL) STRICT;
		CREATE TABLE invoice (id INTEGER PRIMARY KEY, sent INTEGER NOT NULL DEFAULT 0) STRICT;
		CREATE TABLE shipment (invoice INTEGER NOT NULL, sent_by TEXT NOT NULL, sent_at INTEGER NOT NULL) STRICT;
		INSERT INTO scheduler_lock VALUES (?, 0, 0, '')`, invoiceAgent)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the shared database: %w", err), db.Close())
	}
	return &mailbox{db: db, path: path}, nil
}

// receive lets invoices come in until ctx ends.
func (m *mailbox) receive(ctx context.Context) {
	for sleep(ctx, mailEvery) == nil {
		if _, err := m.db.Exec(`INSERT INTO invoice DEFAULT VALUES`); err != nil {
			m.err = fmt.Errorf("receive an invoice: %w", err)
			return
		}
	}
}

// close counts what was sent, and closes the database. Its file stays.
func (m *mailbox) close() {
	truth, err := m.count()
	m.end, m.err = truth, errors.Join(m.err, err, m.db.Close())
}

func (m *mailbox) count() (InvoiceTruth, error) {
	truth := InvoiceTruth{By: map[string]int{}}
	rows, err := m.db.Query(`SELECT invoice, sent_by FROM shipment`)
	if err != nil {
		return truth, fmt.Errorf("count what was sent: %w", err)
	}
	defer rows.Close()
	times := map[int64]int{}
	for rows.Next() {
		var id int64
		var by string
		if err := rows.Scan(&id, &by); err != nil {
			return truth, fmt.Errorf("count what was sent: %w", err)
		}
		times[id]++
		truth.By[by]++
		switch times[id] {
		case 1:
			truth.Sent++
		case 2:
			truth.Twice++
		}
	}
	return truth, rows.Err()
}

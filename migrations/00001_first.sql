-- Times are microseconds since 1970 UTC, durations microseconds, NULL is "not known".
-- Rows of evidence belong to a service and a time, never to a deploy window: windows
-- that overlap share them.

PRAGMA application_id = 0x67706c73; -- "gpls"

CREATE TABLE migration_checksum (
    version INTEGER PRIMARY KEY,
    name    TEXT NOT NULL,
    sha256  TEXT NOT NULL
) STRICT;

CREATE TABLE service (
    id     INTEGER PRIMARY KEY,
    name   TEXT NOT NULL UNIQUE,
    spec   TEXT NOT NULL,             -- analysis.Service as JSON
    config TEXT NOT NULL DEFAULT '',  -- SHA-256 of the configuration that it was taken from
    change INTEGER NOT NULL DEFAULT 0 -- grows with every commit that brought evidence
) STRICT;

CREATE TABLE deploy (
    id             TEXT PRIMARY KEY,
    service_id     INTEGER NOT NULL REFERENCES service (id),
    kind           TEXT NOT NULL, -- empty: not told
    version_before TEXT NOT NULL,
    version_after  TEXT NOT NULL,
    rollback_of    TEXT NOT NULL,
    environment    TEXT NOT NULL,
    actor          TEXT NOT NULL,
    url            TEXT NOT NULL,
    source         TEXT NOT NULL,
    started_at     INTEGER NOT NULL,
    reported_at    INTEGER,
    result         TEXT NOT NULL, -- empty: not told
    seen_until     INTEGER,       -- last sign of one that nobody announced
    window_from    INTEGER NOT NULL, -- by the service's settings
    window_to      INTEGER NOT NULL,
    change         INTEGER NOT NULL DEFAULT 0 -- the service's change that last touched the window
) STRICT;
CREATE INDEX deploy_by_start ON deploy (service_id, started_at);
CREATE INDEX deploy_by_window ON deploy (service_id, window_from, window_to);

-- Noticed deploys that turned out to be announced ones.
CREATE TABLE merged_deploy (
    id        TEXT PRIMARY KEY,
    deploy_id TEXT NOT NULL REFERENCES deploy (id)
) STRICT;

CREATE TABLE revision (
    deploy_id      TEXT NOT NULL REFERENCES deploy (id),
    number         INTEGER NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('open', 'settling', 'sealed')),
    at             INTEGER NOT NULL, -- up to which evidence had been read
    change         INTEGER NOT NULL, -- the service's change that it had seen
    report         BLOB NOT NULL,    -- JSON
    verdict        TEXT NOT NULL,
    user_requests  INTEGER,
    user_failures  INTEGER,
    probe_requests INTEGER,
    probe_failures INTEGER,
    findings       TEXT NOT NULL,    -- codes as a JSON list
    changes        TEXT NOT NULL,    -- what differs from the one before, as a JSON list
    claims         TEXT NOT NULL,    -- what became of the claims, as a JSON list
    ejections      TEXT NOT NULL,    -- how long targets took to leave rotation, as a JSON list
    PRIMARY KEY (deploy_id, number)
) STRICT;

-- Sentences that people typed. They are kept for ever.
CREATE TABLE claim (
    id            TEXT PRIMARY KEY,
    service_id    INTEGER NOT NULL REFERENCES service (id),
    deploy        TEXT NOT NULL, -- empty: of every deploy from from_at to to_at
    about         TEXT NOT NULL CHECK (about IN ('user', 'probe', 'health')),
    caused        INTEGER NOT NULL CHECK (caused IN (0, 1)),
    basis         TEXT NOT NULL CHECK (basis IN ('', 'health')),
    text          TEXT NOT NULL,
    from_at       INTEGER,
    to_at         INTEGER,
    author        TEXT NOT NULL,
    registered_at INTEGER NOT NULL
) STRICT;
CREATE INDEX claim_by_service ON claim (service_id, deploy);

CREATE TABLE step (
    service_id INTEGER NOT NULL REFERENCES service (id),
    deploy     TEXT NOT NULL, -- empty where the source does not know of deploys
    kind       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    target     TEXT NOT NULL,
    source     TEXT NOT NULL,
    inferred   INTEGER NOT NULL CHECK (inferred IN (0, 1)),
    clock      TEXT NOT NULL,
    PRIMARY KEY (service_id, deploy, kind, at, target, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX step_by_time ON step (service_id, at);
CREATE INDEX step_by_deploy ON step (deploy);

-- One row per source of evidence, with running totals for the collectors page.
CREATE TABLE collector (
    id              INTEGER PRIMARY KEY,
    service_id      INTEGER NOT NULL REFERENCES service (id),
    source          TEXT NOT NULL,
    kind            TEXT NOT NULL DEFAULT '',
    last_run        INTEGER,
    last_success    INTEGER,
    last_error      TEXT NOT NULL DEFAULT '',
    last_code       TEXT NOT NULL DEFAULT '',
    last_error_at   INTEGER,
    rows            INTEGER NOT NULL DEFAULT 0, -- as the runs reported them
    objects         INTEGER NOT NULL DEFAULT 0, -- and what the objects held, ever
    lines           INTEGER NOT NULL DEFAULT 0,
    set_aside       INTEGER NOT NULL DEFAULT 0,
    partial_objects INTEGER NOT NULL DEFAULT 0,
    last_evidence   INTEGER,                    -- latest moment that evidence is about
    longest_run     INTEGER NOT NULL DEFAULT 0, -- longest span of a run: bounds searches by time
    longest_object  INTEGER NOT NULL DEFAULT 0, -- the same for objects
    UNIQUE (service_id, source)
) STRICT;

CREATE TABLE run (
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    from_at      INTEGER NOT NULL,
    to_at        INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    kind         TEXT NOT NULL,
    rows         INTEGER NOT NULL,
    code         TEXT NOT NULL, -- empty when it succeeded
    error        TEXT NOT NULL,
    PRIMARY KEY (collector_id, from_at, to_at, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_failed ON run (collector_id, at) WHERE code <> '';

-- The ledger of log objects.
CREATE TABLE object (
    id           INTEGER PRIMARY KEY,
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    key          TEXT NOT NULL, -- where it lies
    name         TEXT NOT NULL, -- the same for every copy of it
    node         TEXT NOT NULL,
    version      TEXT NOT NULL, -- changes with its content; empty: not told
    from_at      INTEGER, -- span that it should hold by its name
    to_at        INTEGER, -- NULL: nobody knows how far it reaches
    rows_from    INTEGER, -- span that its rows do hold
    rows_to      INTEGER,
    low          INTEGER, -- both together
    high         INTEGER,
    lines        INTEGER NOT NULL,
    understood   INTEGER NOT NULL,
    set_aside    INTEGER NOT NULL,
    requestless  INTEGER NOT NULL, -- of those set aside: lines that stand for no request
    unmatched    INTEGER NOT NULL, -- of those understood: of another service
    partial      INTEGER NOT NULL CHECK (partial IN (0, 1)),
    error        TEXT NOT NULL,
    arrived_at   INTEGER, -- as its store says
    stored_at    INTEGER NOT NULL,
    UNIQUE (collector_id, key),
    UNIQUE (collector_id, name)
) STRICT;
CREATE INDEX object_by_time ON object (collector_id, low);
CREATE INDEX object_unread ON object (collector_id) WHERE error <> '' AND partial = 0;
CREATE INDEX object_open ON object (collector_id) WHERE to_at IS NULL;

-- Cells of ten seconds of one object, packed (store/pack.go).
CREATE TABLE cells (
    service_id INTEGER NOT NULL REFERENCES service (id),
    bucket     INTEGER NOT NULL, -- Unix seconds / 10
    object_id  INTEGER NOT NULL REFERENCES object (id) ON DELETE CASCADE,
    data       BLOB NOT NULL,
    UNIQUE (service_id, bucket, object_id)
) STRICT;
CREATE INDEX cells_by_object ON cells (object_id);

-- How much of what a source saw in each ten minutes: all requests of each class, and
-- failures by their kind. It stays a while longer than what it sums up.
CREATE TABLE background (
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    span         INTEGER NOT NULL, -- Unix seconds / 600
    data         BLOB NOT NULL,    -- packed like cells
    PRIMARY KEY (collector_id, span)
) STRICT, WITHOUT ROWID;

-- Failures and slow outliers, one by one.
CREATE TABLE request (
    service_id    INTEGER NOT NULL REFERENCES service (id),
    at            INTEGER NOT NULL, -- a failure's end, else the second in which it started
    object_id     INTEGER NOT NULL REFERENCES object (id) ON DELETE CASCADE,
    line          INTEGER NOT NULL,
    second        INTEGER NOT NULL, -- Unix seconds
    start_at      INTEGER,
    end_at        INTEGER,
    duration      INTEGER NOT NULL,
    node          TEXT NOT NULL,
    target_group  TEXT NOT NULL,
    target        TEXT NOT NULL,
    class         TEXT NOT NULL,
    outcome       TEXT NOT NULL,
    route         TEXT NOT NULL,
    status        INTEGER NOT NULL,
    target_status INTEGER NOT NULL,
    method        TEXT NOT NULL,
    url           TEXT NOT NULL,
    client        TEXT NOT NULL,
    user_agent    TEXT NOT NULL,
    probe_run     TEXT NOT NULL,
    probe_seq     INTEGER NOT NULL,
    connected     INTEGER NOT NULL CHECK (connected IN (0, 1)),
    websocket     INTEGER NOT NULL CHECK (websocket IN (0, 1)),
    before_target INTEGER,          -- from its arrival until it was sent to the target
    target_took   INTEGER,          -- from then until the target answered
    error_reason  TEXT NOT NULL,
    attempts      INTEGER NOT NULL, -- targets that were asked; 0: the log cannot tell
    failed_on     TEXT,             -- a line for each attempt that failed and was hidden
    UNIQUE (object_id, line)
) STRICT;
CREATE INDEX request_by_time ON request (service_id, at);

-- Probe requests found in an object, per node and run.
CREATE TABLE known (
    object_id INTEGER NOT NULL REFERENCES object (id) ON DELETE CASCADE,
    node      TEXT NOT NULL,
    run       TEXT NOT NULL,
    seqs      BLOB NOT NULL, -- ascending sequence numbers: first, then distances, as varints
    PRIMARY KEY (object_id, node, run)
) STRICT;

-- Health checks as the nodes of the load balancer logged them.
CREATE TABLE health_check (
    service_id   INTEGER NOT NULL REFERENCES service (id),
    at           INTEGER NOT NULL, -- its start
    object_id    INTEGER NOT NULL REFERENCES object (id) ON DELETE CASCADE,
    place        INTEGER NOT NULL, -- in its object
    node         TEXT NOT NULL,
    target_group TEXT NOT NULL,
    target       TEXT NOT NULL,
    latency      INTEGER NOT NULL,
    pass         INTEGER NOT NULL CHECK (pass IN (0, 1)),
    status       INTEGER NOT NULL, -- 0: none came
    reason       TEXT NOT NULL,
    UNIQUE (object_id, place)
) STRICT;
CREATE INDEX health_check_by_time ON health_check (service_id, at);

-- What the load balancer counted by its own monitoring, per period.
CREATE TABLE metric (
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    metric       TEXT NOT NULL,
    at           INTEGER NOT NULL, -- start of the period
    period       INTEGER NOT NULL,
    sum          REAL NOT NULL,
    PRIMARY KEY (collector_id, metric, at, period)
) STRICT, WITHOUT ROWID;

-- Lines that were not understood, whole.
CREATE TABLE set_aside (
    object_id INTEGER NOT NULL REFERENCES object (id) ON DELETE CASCADE,
    line      INTEGER NOT NULL,
    offset    INTEGER NOT NULL, -- in the uncompressed object
    reason    TEXT NOT NULL,
    detail    TEXT NOT NULL,
    kind      TEXT NOT NULL,
    raw       BLOB NOT NULL,
    PRIMARY KEY (object_id, line)
) STRICT;

-- A target of a group as one source of states knows it.
CREATE TABLE state_series (
    id           INTEGER PRIMARY KEY,
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    target_group TEXT NOT NULL,
    target       TEXT NOT NULL,
    UNIQUE (collector_id, target_group, target)
) STRICT;

CREATE TABLE state (
    series_id INTEGER NOT NULL REFERENCES state_series (id),
    at        INTEGER NOT NULL,
    state     TEXT NOT NULL,
    reason    TEXT NOT NULL,
    PRIMARY KEY (series_id, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE group_settings (
    service_id           INTEGER NOT NULL REFERENCES service (id),
    load_balancer        TEXT NOT NULL,
    target_group         TEXT NOT NULL,
    at                   INTEGER NOT NULL,
    arn                  TEXT NOT NULL,
    check_interval       INTEGER NOT NULL,
    check_timeout        INTEGER NOT NULL,
    check_unhealthy      INTEGER NOT NULL,
    check_healthy        INTEGER NOT NULL,
    check_path           TEXT NOT NULL,
    deregistration_delay INTEGER NOT NULL,
    PRIMARY KEY (service_id, load_balancer, target_group, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE probe (
    collector_id   INTEGER NOT NULL REFERENCES collector (id),
    run            TEXT NOT NULL,
    seq            INTEGER NOT NULL,
    probe          TEXT NOT NULL,
    class          TEXT NOT NULL,
    sent_at        INTEGER NOT NULL,
    done_at        INTEGER,
    status         INTEGER NOT NULL, -- 0: none came
    outcome        TEXT NOT NULL,
    target         TEXT NOT NULL,
    error          TEXT NOT NULL,
    out_of_service INTEGER NOT NULL CHECK (out_of_service IN (0, 1)),
    PRIMARY KEY (collector_id, sent_at, run, seq), -- in the order in which a window is read
    UNIQUE (collector_id, run, seq)
) STRICT, WITHOUT ROWID;

-- Probe requests as the application that handled them logged them.
CREATE TABLE handled (
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    at           INTEGER NOT NULL,
    target       TEXT NOT NULL,
    run          TEXT NOT NULL,
    seq          INTEGER NOT NULL,
    begun        INTEGER NOT NULL CHECK (begun IN (0, 1)),
    status       INTEGER NOT NULL, -- 0: the line had none
    PRIMARY KEY (collector_id, at, target, run, seq, begun, status)
) STRICT, WITHOUT ROWID;

CREATE TABLE rule_count (
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    minute       INTEGER NOT NULL,
    rule         TEXT NOT NULL,
    seconds      BLOB NOT NULL, -- lines and matches of each second, packed
    PRIMARY KEY (collector_id, minute, rule)
) STRICT, WITHOUT ROWID;

-- How far an application log, or a file of journey records, has been read; of a followed
-- access log, which text the path leads to.
CREATE TABLE position (
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    file         TEXT NOT NULL,
    position     BLOB NOT NULL,
    PRIMARY KEY (collector_id, file)
) STRICT, WITHOUT ROWID;

-- Events that log rules found in lines of an application log.
CREATE TABLE signal (
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    at           INTEGER NOT NULL,
    target       TEXT NOT NULL, -- empty: nothing tells who wrote the line
    rule         TEXT NOT NULL,
    event        TEXT NOT NULL,
    name         TEXT NOT NULL,
    key          TEXT NOT NULL,
    outcome      TEXT NOT NULL,
    data         BLOB NOT NULL, -- the other values, packed (store/signals.go)
    nth          INTEGER NOT NULL, -- of lines that agree in everything else
    PRIMARY KEY (collector_id, at, target, rule, event, name, key, outcome, data, nth)
) STRICT, WITHOUT ROWID;
-- Scheduled jobs are looked at further around a window than anything else.
CREATE INDEX signal_job ON signal (collector_id, at) WHERE event IN ('job.began', 'job.ended', 'job.skipped');

-- Attempts at steps of business transactions.
CREATE TABLE journey_step (
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    at           INTEGER NOT NULL,
    journey      TEXT NOT NULL,
    key          TEXT NOT NULL,
    step         TEXT NOT NULL,
    outcome      TEXT NOT NULL,
    target       TEXT NOT NULL, -- empty: the record does not say
    nth          INTEGER NOT NULL,
    PRIMARY KEY (collector_id, at, journey, key, step, outcome, target, nth)
) STRICT, WITHOUT ROWID;

-- What targets told of themselves.
CREATE TABLE gauge (
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    at           INTEGER NOT NULL,
    target       TEXT NOT NULL,
    metric       TEXT NOT NULL,
    value        REAL NOT NULL,
    PRIMARY KEY (collector_id, at, target, metric)
) STRICT, WITHOUT ROWID;

-- What is to be told to other systems (publish: in the configuration). Everything in
-- it can be made again from the rest of the file.
CREATE TABLE marker (
    id         INTEGER PRIMARY KEY,
    service_id INTEGER NOT NULL REFERENCES service (id),
    key        TEXT NOT NULL, -- says what it is about
    kind       TEXT NOT NULL,
    at         INTEGER NOT NULL,
    line       TEXT NOT NULL,
    sent_at    INTEGER,
    dropped    TEXT NOT NULL DEFAULT '', -- why it is not sent any more
    UNIQUE (service_id, key)
) STRICT;
CREATE INDEX marker_waiting ON marker (id) WHERE sent_at IS NULL AND dropped = '';

-- One row per service of which markers were told, or could not be.
CREATE TABLE publishing (
    service_id    INTEGER PRIMARY KEY REFERENCES service (id),
    last_run      INTEGER NOT NULL,
    last_success  INTEGER,
    last_error    TEXT NOT NULL DEFAULT '',
    last_code     TEXT NOT NULL DEFAULT '',
    last_error_at INTEGER,
    sent          INTEGER NOT NULL DEFAULT 0, -- ever
    dropped       INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What remains of pruned cells: which targets served on which day, and how much.
CREATE TABLE served_day (
    service_id   INTEGER NOT NULL REFERENCES service (id),
    day          INTEGER NOT NULL, -- days since 1970 UTC
    source       TEXT NOT NULL,
    target_group TEXT NOT NULL,
    target       TEXT NOT NULL,
    class        TEXT NOT NULL,
    requests     INTEGER NOT NULL,
    failures     INTEGER NOT NULL,
    PRIMARY KEY (service_id, day, source, target_group, target, class)
) STRICT, WITHOUT ROWID;

-- Which cells were added to it, so that none is added twice that is read again.
CREATE TABLE summed (
    collector_id INTEGER NOT NULL REFERENCES collector (id),
    node         TEXT NOT NULL,    -- the object's
    day          INTEGER NOT NULL, -- days since 1970 UTC
    buckets      BLOB NOT NULL,    -- of the day, by 10 s: how many were not, then how many were, and so on, as varints
    PRIMARY KEY (collector_id, node, day)
) STRICT, WITHOUT ROWID;

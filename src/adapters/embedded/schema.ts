/**
 * events.sqlite, for analysts. `events` is the log with one row per event; triggers reject updates and deletes.
 * `position` orders all events, `revision` the events of a stream.
 * `time` is RFC 3339 UTC text; `data` and `meta` are JSON texts (`data ->> 'id'` reads a field). `records` holds cached
 * answers until `until` (epoch ms); `runs` holds the last run of each job (epoch ms).
 */
export const eventsSchema = `
create table if not exists events (
  position integer primary key,
  stream   text    not null,
  revision integer not null,
  id       text    not null,
  type     text    not null,
  time     text    not null,
  data     text    not null,
  meta     text    not null
) strict;
create unique index if not exists events_stream on events (stream, revision);
create trigger if not exists events_never_change before update on events begin select raise(abort, 'events are never changed'); end;
create trigger if not exists events_never_go before delete on events begin select raise(abort, 'events are never deleted'); end;
create table if not exists records (
  kind     text    not null,
  key      text    not null,
  revision integer not null,
  value    text    not null,
  until    integer not null,
  primary key (kind, key)
) strict, without rowid;
create index if not exists records_until on records (until);
create table if not exists runs (
  name     text    not null primary key,
  started  integer not null,
  finished integer,
  error    text
) strict;
`

/**
 * views.sqlite, for analysts: one table per view and version, for example `tokens_1`. `views` holds the checkpoint of
 * each view and the position of its newest row. `_doc` is the document as JSON text. The column is null for a tombstone
 * and for a document that is unreadable because of the event in `_unreadable`. The columns without an underscore are
 * the searchable fields. Everything in the file can be rebuilt from events.sqlite: deleting it costs a rebuild at the
 * next start. A column added later needs a default, because earlier versions write the checkpoints of their views
 * without it.
 */
export const viewsSchema = `
create table if not exists views (
  name     text    not null primary key,
  position integer not null,
  event    text    not null,
  log      text    not null,
  events   integer not null,
  rows     integer not null,
  changes  integer not null default 0,
  newest   integer not null
) strict, without rowid;
`

/**
 * subjects.sqlite: the wrapped key of each subject; a null key marks an erased subject. `lost_subjects` holds keys that
 * an operator gave up (`serve --accept-lost-keys`): they open only with the lost key file. `binding` is the first event
 * of the log that the keys belong to.
 */
export const subjectsSchema = `
create table if not exists subjects (
  subject text not null primary key,
  key     blob
) strict;
create table if not exists lost_subjects (
  subject text not null,
  key     blob not null
) strict;
create table if not exists binding (
  only     integer not null primary key check (only = 1),
  event    text    not null,
  position integer not null
) strict;
`

/**
 * ledger.sqlite: `tiles` holds the full tiles of the tree, which the log can replace. `sealed` holds the newest
 * checkpoint, which nothing can replace: back it up with the signing key. `checkpoints` holds earlier checkpoints.
 */
export const ledgerSchema = `
create table if not exists tiles (
  level    integer not null,
  n        integer not null,
  root     blob    not null,
  position integer not null,
  event    text    not null,
  mac      blob    not null,
  hashes   blob    not null,
  primary key (level, n)
) strict;
create table if not exists sealed (
  only   integer not null primary key check (only = 1),
  record text    not null
) strict;
create table if not exists checkpoints (
  size   integer not null primary key,
  root   text    not null,
  text   text    not null,
  at     text    not null,
  keep   integer not null
) strict;
create table if not exists scrubs (
  only   integer not null primary key check (only = 1),
  result text    not null
) strict;
`

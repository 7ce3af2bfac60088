/**
 * events.sqlite, for analysts: `events` is the log, one row an event, never changed (triggers refuse). `position` orders all events,
 * `revision` those of a stream. `time` is RFC 3339 UTC text; `data` and `meta` are JSON texts (`data ->> 'id'` reads a field).
 * `records` are kept answers until `until` (epoch ms), `runs` the last run of each job (epoch ms).
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
 * views.sqlite, for analysts: one table a view and version, `tokens_1` for instance; `views` says up to which position each is complete, what it knows of the log there, and the position of the newest row.
 * `_doc` is the document's JSON text, absent for a tombstone and for a document that `_unreadable` closed; the other columns without underscore are its searchable fields.
 * The file holds nothing that cannot be made again from events.sqlite: deleting it costs a rebuild at the next start.
 * A column that is added later has a default: an earlier version writes the checkpoints of its own views without it.
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
 * subjects.sqlite: the wrapped key of each subject; a subject whose key is null is erased for ever. `lost_subjects` are keys that an operator
 * gave up (`serve --accept-lost-keys`): they open only under the key file that was lost. `binding` is the
 * first event of the log that all of these are for.
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

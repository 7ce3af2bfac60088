import { connection, listener, originOrAll } from './addresses.ts'
import { authentication } from './authentication.ts'
import { authorization } from './authorization.ts'
import { budgets } from './budgets.ts'
import { list } from './collections.ts'
import { outgoing } from './outgoing.ts'
import { quotas } from './quotas.ts'
import { rateLimit } from './rate-limit.ts'
import { redis } from './redis.ts'
import { server } from './server.ts'
import { setting, type Values } from './setting.ts'
import { bool, header, identifier, integer, matching, oneOf, path, streamPrefix, text } from './types.ts'

const none = undefined
const allowedHeaders = (word: string): readonly string[] => [
  ...'Accept Authorization Content-Type If-Match If-None-Match Idempotency-Key After-Position x-request-id'.split(' '),
  `X-${word.charAt(0).toUpperCase()}${word.slice(1)}-Namespace`,
  `x-${word}-accept-server-version`,
  `x-${word}-environment`,
]

/** Every setting there is: its kind, default and meaning (api.md §12). Documentation, example, schema, types and checks all come from here. */
export const settings = {
  version: setting(oneOf('1.0'), '1.0', 'Version of the format of this file.'),
  log: {
    level: setting(oneOf('DEBUG', 'INFO', 'WARN', 'ERROR'), 'INFO', 'Least severe kind of record that is logged.'),
    encoding: setting(oneOf('json', 'console'), 'json', 'Form of a log record; either is one line.'),
    file: setting(path, none, 'File that the log is appended to, for its owner only; standard output when not set.'),
  },
  server,
  budgets,
  ui: {
    enabled: setting(bool, true, 'Serve the web UI.'),
    default_theme: setting(
      oneOf('system', 'light', 'dark'),
      'system',
      'Theme of the web UI before a user chooses one.',
    ),
    topbar: {
      color: setting(
        matching(/^(#[0-9a-fA-F]{3,8}|[a-zA-Z]+)$/, 'must be a colour such as #4f46e5'),
        none,
        'Colour of the bar on top of the web UI.',
      ),
      label: setting(text, none, 'Words in the bar on top of the web UI, such as the name of the environment.'),
    },
  },
  cors: {
    enabled: setting(bool, false, 'Answer browsers of other origins.'),
    allowed_origins: setting(
      list(originOrAll),
      [],
      'Origins that are answered; * is every origin, without credentials. On routes that are open, pages of these may write too, but not by *.',
    ),
    allowed_headers: setting(
      list(header),
      {
        shown: `${allowedHeaders('service')
          .map((name) => `\`${name}\``)
          .join(', ')} (the word follows identifiers.service)`,
        from: (get) => allowedHeaders(String(get('identifiers.service'))),
      },
      'Request headers that other origins may send.',
    ),
  },
  rate_limit: rateLimit,
  metrics: {
    enabled: setting(bool, true, 'Serve GET /metrics.'),
    address: setting(
      listener,
      none,
      'Address and port (`127.0.0.1:9090`, `[::]:9090`) of a listener of its own for GET /metrics, plain HTTP; that of the service then answers 404.',
    ),
    flag_labels: setting(
      bool,
      false,
      'Name namespaces, flags, segments and variants in the metrics of evaluations; whoever reads the page reads the names.',
    ),
  },
  storage: {
    type: setting(
      oneOf('embedded', 'cluster'),
      'embedded',
      'One SQLite file and no servers, or EventStoreDB, MongoDB and Redis.',
    ),
    data_dir: setting(path, './data', 'Directory of the embedded event log, its views and its keys.'),
    read_only: setting(bool, false, 'Refuse every write under /api/v1.'),
  },
  tokens: {
    index_size: setting(
      integer(1, 16_000_000),
      1_000_000,
      'Live tokens that memory holds, of about 90 bytes each. Beyond it those that were used last stay; another is read from the store when it is used, and comes back.',
    ),
  },
  quotas,
  keys: {
    file: setting(
      path,
      {
        shown: '`<storage.data_dir>/keys` (embedded), not set (cluster)',
        from: (get): string | undefined =>
          get('storage.type') === 'embedded' ? `${String(get('storage.data_dir'))}/keys` : undefined,
      },
      'File of the key that seals token digests and of the keys of personal data; a cluster without it keeps them in MongoDB.',
    ),
  },
  eventstore: {
    url: setting(
      connection('esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover'),
      none,
      'Connection URL of EventStoreDB, needed for cluster; kurrentdb is another spelling of esdb.',
    ),
    stream_prefix: setting(
      streamPrefix,
      'rollcall.',
      'What the names of the streams begin with in EventStoreDB, and nowhere else; empty for a history that was begun without one.',
    ),
    shared: setting(
      bool,
      false,
      'Begin a history of its own in a store that has one of another deployment, under another prefix.',
    ),
    all_on_roll: setting(
      bool,
      false,
      'Set once no instance of a version without cluster membership runs on a history that such a version began: later event formats may then be written.',
    ),
  },
  mongodb: {
    url: setting(connection('mongodb', 'mongodb+srv'), none, 'Connection URL of MongoDB, needed for cluster.'),
    database: setting(
      matching(
        /^(?!(?:admin|config|local)$)[^/\\. "$*<>:|?]{1,63}$/i,
        'must be a database name; admin, config and local belong to the server, which replicates or cleans them by rules of its own',
      ),
      'rollcall',
      'Database that holds the views and the keys of personal data.',
    ),
    bulk_size: setting(
      integer(1, 100_000),
      1000,
      'Documents written in one command; smaller for servers that take no more.',
    ),
  },
  redis,
  identifiers: {
    service: setting(identifier, 'service', 'Word in the names of cookies, headers, metrics and metadata keys.'),
    codehost: setting(
      identifier,
      'codehost',
      'Word for the code-host method in paths, method names and metadata keys.',
    ),
    orchestrator: setting(identifier, 'orchestrator', 'Word for the orchestrator method in paths and method names.'),
    orchestrator_metadata: setting(
      identifier,
      { shown: '`identifiers.orchestrator`', from: (get) => get('identifiers.orchestrator') as string },
      'Word for the orchestrator method in metadata keys.',
    ),
  },
  outgoing,
  authentication,
  authorization,
} as const

/** The effective configuration, by the names of the file. Durations are milliseconds. */
export type Config = Values<typeof settings>

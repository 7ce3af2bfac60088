import { collectorUrl, connection, listener, originOrAll } from './addresses.ts'
import { list } from './collections.ts'
import { authentication } from './sections/authentication.ts'
import { authorization } from './sections/authorization.ts'
import { history } from './sections/history.ts'
import { outgoing } from './sections/outgoing.ts'
import { server } from './sections/server.ts'
import { setting, type Values } from './setting.ts'
import { bool, header, identifier, integer, matching, oneOf, path, secret, streamPrefix, text } from './types.ts'

const MOST = 2 ** 40

/** Settings under `budgets` (api.md §1.4): memory in bytes shared by all requests. */
const budgets = {
  answers: setting(
    integer(1_048_576, MOST),
    67_108_864,
    'Maximum memory in bytes of all pending answers together. A request over the limit waits at most 5 s, and is then refused with 503 `busy`.',
  ),
  bodies: setting(
    integer(1_048_576, MOST),
    67_108_864,
    'Maximum memory in bytes of all pending request bodies together. A request over the limit is refused with 503 `busy`.',
  ),
} as const

/** Settings under `quotas` (api.md §7.8). */
const quotas = {
  flags_per_namespace: setting(integer(1, Number.MAX_SAFE_INTEGER), 20_000, 'Maximum flags of a namespace.'),
  segments_per_namespace: setting(integer(1, Number.MAX_SAFE_INTEGER), 20_000, 'Maximum segments of a namespace.'),
  bytes_per_namespace: setting(
    integer(1, Number.MAX_SAFE_INTEGER),
    268_435_456,
    'Maximum size in bytes of all flags and segments of a namespace, as JSON in UTF-8. All of them are in memory.',
  ),
  namespaces: setting(integer(1, Number.MAX_SAFE_INTEGER), 10_000, 'Maximum namespaces.'),
  tokens_per_credential: setting(
    integer(1, Number.MAX_SAFE_INTEGER),
    100_000,
    'Maximum number of undeleted static tokens created by one credential. All callers without a credential count as one credential.',
  ),
  grant_bytes_per_credential: setting(
    integer(1, Number.MAX_SAFE_INTEGER),
    33_554_432,
    'Maximum size in bytes of the rights of all undeleted static tokens created by one credential, as text (the names of the rights by namespace).',
  ),
} as const

/** Settings under `rate_limit` (api.md §2.4). */
const rateLimit = {
  enabled: setting(bool, true, 'Limit failed credentials, logins and exchanges.'),
  logins: setting(
    integer(1, 1_000_000_000),
    60,
    'Maximum logins started per client address and minute. A started login may finish even if the limit is reached.',
  ),
  exchanges: setting(
    integer(0, 1_000_000_000),
    600,
    'Maximum exchanges per service account and minute; 0 means no limit. Failed exchanges are limited to 60 per client address and minute.',
  ),
  client: setting(
    integer(0, 1_000_000_000),
    6000,
    'Maximum requests per publishable token (role client), client address and minute; 0 means no limit.',
  ),
} as const

/** Settings of traces. The standard variables of OpenTelemetry set everything else. */
const tracing = {
  otlp_endpoint: setting(
    collectorUrl,
    {
      shown: 'the variable `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, or `OTEL_EXPORTER_OTLP_ENDPOINT` and `/v1/traces`',
      from: (): string | undefined => undefined,
    },
    'Collector to which traces are sent by OTLP over HTTP, such as http://localhost:4318, to which /v1/traces is added. Without it, no traces are recorded.',
  ),
}

const none = undefined

/** Settings of Redis. `adapters/redis/address.ts` checks that they are consistent. */
const redis = {
  url: setting(
    connection('redis', 'rediss'),
    none,
    'Connection URL of Redis, required if storage.type is cluster. The scheme rediss uses TLS. A URL may list several hosts, separated by commas: the nodes of a Redis Cluster, or Sentinels.',
  ),
  mode: setting(
    oneOf('single', 'cluster', 'sentinel'),
    'single',
    'Kind of the hosts in redis.url: a single server, nodes of a Redis Cluster, or Sentinels that monitor the server.',
  ),
  master: setting(text, none, 'Name under which the Sentinels monitor the server; required if redis.mode is sentinel.'),
  username: setting(text, none, 'User of Redis (ACL), if redis.url contains no user.'),
  password: setting(secret, none, 'Password of Redis, if redis.url contains no password.'),
  sentinel_username: setting(text, none, 'User of the Sentinels, if they require one.'),
  sentinel_password: setting(secret, none, 'Password of the Sentinels, if they require one.'),
  ca_file: setting(
    path,
    none,
    'File with the certificate authority (PEM) of Redis. Default: the certificate authorities of the system.',
  ),
  cert_file: setting(path, none, 'File with the client certificate (PEM), if Redis requires one.'),
  cert_key: setting(path, none, 'File with the private key (PEM) of the client certificate for Redis.'),
  prefix: setting(
    matching(/^[A-Za-z0-9_.:-]{1,64}$/, 'must be 1 to 64 letters, digits and _ . : -'),
    'rollcall',
    'Prefix of the keys in Redis; the service writes it in braces. Deployments that share a Redis server need different prefixes.',
  ),
}

const allowedHeaders = (word: string): readonly string[] => [
  ...'Accept Authorization Content-Type If-Match If-None-Match Idempotency-Key After-Position'.split(' '),
  ...'Event-Reason Last-Event-ID x-request-id traceparent tracestate'.split(' '),
  `X-${word.charAt(0).toUpperCase()}${word.slice(1)}-Namespace`,
  `x-${word}-accept-server-version`,
  `x-${word}-environment`,
]

/**
 * All settings: type, default and description (api.md §12). Documentation, example, schema, types and checks are
 * generated from this table.
 */
export const settings = {
  version: setting(oneOf('1.0'), '1.0', 'Version of the format of this file.'),
  log: {
    level: setting(oneOf('DEBUG', 'INFO', 'WARN', 'ERROR'), 'INFO', 'Minimum level of log records.'),
    encoding: setting(oneOf('json', 'console'), 'json', 'Format of log records; each record is one line.'),
    file: setting(path, none, 'Log file, accessible only to its owner. Default: standard output.'),
  },
  server,
  budgets,
  ui: {
    enabled: setting(bool, true, 'Serve the web UI.'),
    default_theme: setting(oneOf('system', 'light', 'dark'), 'system', 'Default theme of the web UI.'),
    topbar: {
      color: setting(
        matching(/^(#[0-9a-fA-F]{3,8}|[a-zA-Z]+)$/, 'must be a colour such as #4f46e5'),
        none,
        'Colour of the top bar of the web UI.',
      ),
      label: setting(text, none, 'Label in the top bar of the web UI, such as the name of the environment.'),
    },
  },
  cors: {
    enabled: setting(bool, false, 'Allow cross-origin requests of browsers.'),
    allowed_origins: setting(
      list(originOrAll),
      [],
      'Allowed origins. The entry * allows every origin, but without credentials. Pages of an origin that is listed by name may also send writes to routes that need no token.',
    ),
    allowed_headers: setting(
      list(header),
      {
        shown: `${allowedHeaders('service')
          .map((name) => `\`${name}\``)
          .join(', ')} (the word follows identifiers.service)`,
        from: (get) => allowedHeaders(String(get('identifiers.service'))),
      },
      'Request headers allowed from other origins.',
    ),
  },
  rate_limit: rateLimit,
  metrics: {
    enabled: setting(bool, true, 'Serve GET /metrics.'),
    address: setting(
      listener,
      none,
      'Address and port (`127.0.0.1:9090`, `[::]:9090`) of a separate plain-HTTP listener for GET /metrics; the main listener then answers 404.',
    ),
    flag_labels: setting(
      bool,
      false,
      'Add the names of namespaces, flags, segments and variants to the metrics of evaluations. All readers of the metrics see them.',
    ),
  },
  tracing,
  ofrep: {
    event_streams: setting(
      bool,
      true,
      'Send OFREP clients an event when the flags or segments of their namespace change.',
    ),
  },
  storage: {
    type: setting(
      oneOf('embedded', 'cluster'),
      'embedded',
      'Storage: local SQLite files, or EventStoreDB, MongoDB and Redis.',
    ),
    data_dir: setting(path, './data', 'Directory of the embedded event log, its views and its keys.'),
    read_only: setting(bool, false, 'Refuse every write under /api/v1.'),
  },
  tokens: {
    index_size: setting(
      integer(1, 16_000_000),
      1_000_000,
      'Maximum number of active tokens in memory, about 90 bytes each. If more tokens are active, tokens that were not used recently are evicted from memory, and read from the store at their next use.',
    ),
  },
  quotas,
  history,
  keys: {
    file: setting(
      path,
      {
        shown: '`<storage.data_dir>/keys` (embedded), not set (cluster)',
        from: (get): string | undefined =>
          get('storage.type') === 'embedded' ? `${String(get('storage.data_dir'))}/keys` : undefined,
      },
      'File with the pepper of token digests and the key-encryption key of personal data. If storage.type is cluster and no file is set, both are stored in MongoDB.',
    ),
  },
  eventstore: {
    url: setting(
      connection('esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover'),
      none,
      'Connection URL of EventStoreDB, required if storage.type is cluster. The scheme kurrentdb is an alias of esdb.',
    ),
    stream_prefix: setting(
      streamPrefix,
      'rollcall.',
      'Prefix of the stream names in EventStoreDB. Empty: no prefix, for a history that was begun without a prefix.',
    ),
    shared: setting(
      bool,
      false,
      'Allow the start of a new history in an EventStoreDB that already contains the history of a different deployment under a different prefix.',
    ),
    all_on_roll: setting(
      bool,
      false,
      'Set this to true if the history was begun by a version without the list of members, and no instance of such a version runs any more. The service may then write later event formats.',
    ),
  },
  mongodb: {
    url: setting(
      connection('mongodb', 'mongodb+srv'),
      none,
      'Connection URL of MongoDB, required if storage.type is cluster.',
    ),
    database: setting(
      matching(
        /^(?!(?:admin|config|local)$)[^/\\. "$*<>:|?]{1,63}$/i,
        'must not be admin, config or local, because these databases belong to the MongoDB server',
      ),
      'rollcall',
      'Database for the views and the keys of personal data.',
    ),
    bulk_size: setting(
      integer(1, 100_000),
      1000,
      'Maximum number of documents in one write command. Lower this number if the MongoDB server has a smaller limit.',
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

/** Effective configuration, with the names of the file. Durations in ms. */
export type Config = Values<typeof settings>

/** Suites of test files, by what the files need. */
export const SUITES = ['unit', 'service', 'browser', 'faults', 'real'] as const
export type Suite = (typeof SUITES)[number]

/**
 * Folders (with a trailing slash) and files (without extension) under `test`. A file belongs to the first suite that
 * lists it, else to `service`.
 */
const members: Readonly<Record<Exclude<Suite, 'service'>, readonly string[]>> = {
  /** Start no process and open no port. */
  unit: [
    'access/',
    'as-of/',
    'commands/',
    'config/',
    'evaluation/',
    'events/',
    'jobs/',
    'ledger/',
    'projections/',
    'ui/bundle',
    'ui/code',
    'ui/integrity-tree',
    'ui/theme',
    'auth/email-rule',
    'auth/login-state',
    'auth/provider-says',
    'auth/proxies',
    'auth/rate-limit',
    'adapters/eventstoredb-read',
    'adapters/eventstoredb-silence',
    'adapters/eventstoredb-time',
    'adapters/opentelemetry-open',
    'adapters/opentelemetry-sending',
    'adapters/redis-address',
    'adapters/mongodb/document',
    'http/fields',
    'http/float32',
    'http/input',
    'http/large-bodies',
    'http/last-change',
    'http/live-events',
    'http/stream-slots',
    'http/metrics-page',
    'http/path',
    'http/reach-now',
    'app/access-policy',
    'architecture',
    'bounds',
    'base/clock',
    'base/concurrency',
    'base/gate',
    'config',
    'docs',
    'app/ending',
    'app/auth-services',
    'licences',
    'log-lines',
    'app/store-metrics',
    'app/scrub-job',
    'memory-log',
    'app/event-clock',
    'app/outage-log',
    'app/readiness',
    'app/renewal',
    'app/cluster-member',
    'app/verify-log-and-views',
    'size',
    'style',
    'time',
    'app/views-awaited',
    'virtual-clock',
    'app/warnings',
    'ci/suites',
  ],
  /** Drive Chromium. */
  browser: ['ui/'],
  /** Kill, freeze, partition and restore processes and servers. */
  faults: [
    'crash/',
    'cluster/',
    'adapters/eventstoredb-cluster',
    'adapters/eventstoredb-faults',
    'adapters/eventstoredb-nemesis',
    'adapters/mongodb/faults',
    'adapters/bullmq/faults',
    'adapters/bullmq/lock-timer',
    'adapters/bullmq/silence',
    'adapters/bullmq/topologies',
    'stories/damaged-files',
    'stories/lost-files',
    'stories/renewed-views',
  ],
  /** Use a real Kubernetes API server and real identity providers. */
  real: ['real/'],
}

/** The suite of a test file, by its path under `test` without `.test.ts`. */
export const suiteOf = (file: string): Suite => {
  const isIn = (suite: Exclude<Suite, 'service'>) =>
    members[suite].some((name) => (name.endsWith('/') ? file.startsWith(name) : file === name))
  return (['unit', 'browser', 'faults', 'real'] as const).find(isIn) ?? 'service'
}

/** Files of `http`, `stories` and `cli` that start no servers, so they do not run again on the stack of servers. */
export const EMBEDDED: readonly string[] = [
  'cli/addresses',
  'cli/backup',
  'cli/changed-key',
  'cli/checkpoints-guide',
  'cli/document',
  'cli/events-verify',
  'cli/file-owners',
  'cli/foreign-schema',
  'cli/forged-ledger',
  'cli/hostile-server',
  'cli/ledger',
  'cli/ledger-guide',
  'cli/log',
  'cli/no-files',
  'cli/node-version',
  'cli/parquet',
  'cli/program',
  'cli/replay',
  'cli/restore-limits',
  'cli/steering',
  'cli/tables-guide',
  'cli/verifier-file',
  'cli/whole-file',
  'http/abuse',
  'http/attachment',
  'http/auth-narrowing',
  'http/auth-tokens-many',
  'http/cookies',
  'http/flag-streams',
  'http/header-bytes',
  'http/headers',
  'http/hostile',
  'http/idempotency',
  'http/logout-interrupted',
  'http/logout-many',
  'http/many-flags',
  'http/page-shown',
  'http/pipelining',
  'http/server',
  'http/stalled',
  'http/stops',
  'http/streams',
  'http/together',
  'http/token-cache',
  'http/token-holders',
  'http/token-verifier',
  'stories/damaged-history',
  'stories/ending',
  'stories/log-reader',
  'stories/no-files',
  'stories/private-files',
  'stories/process',
  'stories/unusable-places',
]

/**
 * Files of `http`, `stories` and `cli` whose results do not depend on the store, with the reason. They do not run again
 * on the stack of servers.
 */
export const STORELESS: Readonly<Record<string, string>> = {
  'cli/config-as': 'the settings decide',
  'cli/evaluate': 'a client of the evaluation, which happens in memory',
  'cli/flag-answers': 'a client of routes that run on servers in http/api',
  'cli/import': 'a client of routes that run on servers in http/api',
  'http/answers-budget': 'the memory for answers belongs to the HTTP server',
  'http/api-document': 'the OpenAPI document is constant',
  'http/api/headers': 'headers are checked before the store is read',
  'http/api/hostile': 'bodies are checked before the store is read',
  'http/auth-rules': 'the claims decide; http/auth-rules-later runs on servers',
  'http/bodies-budget': 'the memory for bodies belongs to the HTTP server',
  'http/budgets': 'sizes of bodies and answers; http/auth-tokens has the pages of the store',
  'http/cut-answers': 'the HTTP server sends the answers',
  'http/clients': 'client libraries meet the evaluation, which happens in memory',
  'http/evaluate-left': 'the evaluation happens in memory',
  'http/every-right': 'rights are decided in memory; http/rights runs on servers',
  'http/forwarded': 'headers decide the client address',
  'http/login-causes': 'the provider decides; http/auth-login runs on servers',
  'http/login-page': 'the page of a callback; http/auth-login runs on servers',
  'http/open-routes': 'headers decide before the store is read',
  'http/own-host': 'headers decide before the store is read',
  'http/query': 'query parameters are checked before the store is read',
  'http/resets': 'connections belong to the HTTP server',
  'http/stream-resets': 'connections belong to the HTTP server',
  'http/streaming-engine': 'a client of the streaming snapshot; http/snapshot-stream runs on servers',
  'http/ui-files': 'files of the web UI',
  'http/ui-page': 'the page of the web UI; http/auth-session has the sessions',
  'http/verified-address': 'the claims decide; http/auth-rules-later runs on servers',
}

/** Whether a test file also runs on the stack of servers. */
export const runsOnServers = (file: string): boolean =>
  suiteOf(file) === 'service' &&
  ['http/', 'stories/', 'cli/'].some((folder) => file.startsWith(folder)) &&
  !EMBEDDED.includes(file) &&
  !(file in STORELESS)

/** All names of the table. */
export const names = Object.values(members).flat()

/**
 * Files with a process of their own in each suite, because they measure the memory of the process, or count the blocks
 * of code that it executes (`work.ts`).
 */
export const ALONE: readonly string[] = [
  'cli/document',
  'config',
  'http/attachment',
  'http/many-flags',
  'http/path',
  'projections/held',
]

/** Long-running files, started first so that no core idles at the end. */
export const LONG: readonly string[] = [
  'adapters/eventstoredb',
  'ci/suite',
  'cli/foreign-schema',
  'cli/import',
  'cli/import-plan',
  'evaluation/reference',
  'evaluation/work',
  'http/auth-exchange',
  'http/auth-login',
  'http/auth-logins-at-once',
  'http/auth-rules-later',
  'http/budgets',
  'http/cut-answers',
  'http/many-flags',
  'http/resets',
  'http/stops',
  'http/together',
  'stories/ending',
  'stories/no-files',
  'stories/process',
  'stories/tokens',
  'stories/unusable-places',
  'app/verify-keys-servers',
  'stories/damaged-files',
  'stories/lost-files',
  'cluster/two-builds',
  'crash/backups',
  'crash/kill',
  'crash/seals',
  'crash/serve',
  'ui/access-flag',
  'ui/access-settings',
  'ui/access-shell',
  'ui/away',
  'ui/budgets',
  'ui/focus-seen',
  'ui/rights',
  'ui/segments',
  'ui/variant-flag',
]

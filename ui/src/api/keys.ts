/** Query keys. Invalidating a key also invalidates every key that begins with it. */
export const keys = {
  session: ['session'],
  methods: ['methods'],
  access: ['access'],
  /** Events. Every write adds some. */
  history: ['history'],
  roles: ['roles'],
  system: ['system'],
  ledger: ['ledger'],
  tokens: ['tokens'],
  /** Names of token creators. No write invalidates them. */
  makers: ['makers'],
  namespaces: ['namespaces'],
  namespace: (key: string) => ['namespace', key],
  flags: (namespace: string) => ['flags', namespace],
  flag: (namespace: string, key: string) => ['flag', namespace, key],
  segments: (namespace: string) => ['segments', namespace],
  segment: (namespace: string, key: string) => ['segment', namespace, key],
  /** Comparisons of two moments. */
  differences: ['history', 'differences'],
} as const

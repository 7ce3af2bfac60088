/** Names of reads. One that begins with another's name is stale with it. */
export const keys = {
  session: ['session'],
  methods: ['methods'],
  access: ['access'],
  roles: ['roles'],
  tokens: ['tokens'],
  /** Who made tokens: nothing that is written makes their names stale. */
  makers: ['makers'],
  namespaces: ['namespaces'],
  namespace: (key: string) => ['namespace', key],
  flags: (namespace: string) => ['flags', namespace],
  flag: (namespace: string, key: string) => ['flag', namespace, key],
  segments: (namespace: string) => ['segments', namespace],
  segment: (namespace: string, key: string) => ['segment', namespace, key],
} as const

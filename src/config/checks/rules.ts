import { getHeapStatistics } from 'node:v8'
import { listsName } from '../../access/rules.ts'
import { codehostKinds } from '../../auth/codehost/kinds.ts'
import { Refusal } from '../../base/errors.ts'
import { unreadFor } from '../../base/regular-file.ts'
import { methodWords, namesOf } from '../../contract/identifiers.ts'
import { tokenMetadata } from '../../contract/token-metadata.ts'
import type { Method } from '../../events/token.ts'
import type { Finding } from '../problem.ts'
import type { Config } from '../settings.ts'
import { accessErrors, accessWarnings, loginFindings, NO_TEAMS } from './access-rules.ts'
import { reachErrors, unknownWarnings } from './reach-rules.ts'

const MIB = 1_048_576
/** Memory of the service itself in bytes, with caches and a small history. */
const OWN = 192 * MIB
/** Bytes per token in the index. */
const TOKEN = 90

/** Memory limit of this process in bytes: of its heap, and of its container if it has one. */
const memoryOfProcess = (): number => {
  const container = process.constrainedMemory?.() ?? 0
  const heap = getHeapStatistics().heap_size_limit
  // If the process runs in no container, the system reports no limit, or a nonsensical one.
  return container > 0 ? Math.min(heap, container) : heap
}

/** Warns if the settings together may exceed the memory of the process, `available` bytes. */
export const memoryWarnings = (
  { budgets: { answers, bodies }, tokens }: Pick<Config, 'budgets' | 'tokens'>,
  available = memoryOfProcess(),
): readonly Finding[] => {
  const wanted = OWN + answers + bodies + tokens.index_size * TOKEN
  const mib = (bytes: number) => Math.round(bytes / MIB)
  return [
    [
      'budgets',
      wanted > available &&
        `together with tokens.index_size and the service itself may need ${mib(wanted)} MiB, but the process has ${mib(available)} MiB: lower these settings, or raise the memory limit (container, --max-old-space-size)`,
    ],
  ]
}

const unreadable = (path: string): string | false => {
  const why = unreadFor(path)
  return why !== undefined && `the file cannot be read (${why})`
}

/** Validates the metadata of the first token by the rules of the API (api.md §5.4 A7). */
const metadata = ({ identifiers, authentication }: Config): readonly Finding[] => {
  const given = authentication.methods.token.bootstrap.metadata
  try {
    tokenMetadata(namesOf(identifiers)).read(given, 'metadata')
    return []
  } catch (error) {
    if (!(error instanceof Refusal) || error.violation === undefined) throw error
    return [['authentication.methods.token.bootstrap.metadata', error.violation.description]]
  }
}

const LONGEST_TOLERANCE_MS = 300_000

const BASE = 'authentication.methods'
const NO_ADDRESS = 'is required, because server.public_url is not set'
type Methods = Config['authentication']['methods']

const findingsOf: Readonly<Record<Method, (methods: Methods) => readonly Finding[]>> = {
  token: () => [],
  oidc: ({ oidc }) => [
    ...Array.from(
      oidc.providers,
      ([name, { redirect_address }]): Finding => [
        `${BASE}.oidc.providers.${name}.redirect_address`,
        redirect_address === undefined && NO_ADDRESS,
      ],
    ),
    ...Array.from(oidc.providers).flatMap(([name, provider]) => {
      const { client_secret, client_authentication, clock_tolerance, keep_id_token, logout } = provider
      const [at, isPublic] = [`${BASE}.oidc.providers.${name}`, client_authentication === 'none']
      return [
        [`${at}.client_secret`, client_secret === undefined && !isPublic && 'is required'],
        [
          `${at}.client_secret`,
          client_secret !== undefined && isPublic && 'has no effect, because client_authentication is none',
        ],
        [`${at}.clock_tolerance`, clock_tolerance > LONGEST_TOLERANCE_MS && 'must be at most 5m'],
        [`${at}.keep_id_token`, keep_id_token && logout === 'local' && 'has no effect, because logout is local'],
      ] satisfies readonly Finding[]
    }),
  ],
  codehost: ({ codehost }) => {
    const restricted = codehost.allowed_organizations.length > 0 || Object.keys(codehost.allowed_teams).length > 0
    const strangers = Object.keys(codehost.allowed_teams).filter(
      (name) => !listsName(codehost.allowed_organizations, name),
    )
    const { membershipScope } = codehostKinds[codehost.kind]
    return [
      ...(['client_id', 'client_secret'] as const).map(
        (key): Finding => [
          `${BASE}.codehost.${key}`,
          codehost.enabled && codehost[key] === undefined && 'is required when the method is enabled',
        ],
      ),
      [`${BASE}.codehost.redirect_address`, codehost.enabled && codehost.redirect_address === undefined && NO_ADDRESS],
      [
        `${BASE}.codehost.server_url`,
        codehost.enabled && codehost.server_url === undefined && 'is required when kind is gitea',
      ],
      [
        `${BASE}.codehost.scopes`,
        restricted &&
          !codehost.scopes.includes(membershipScope) &&
          `must contain ${membershipScope}, because organizations or teams are restricted`,
      ],
      [
        `${BASE}.codehost.allowed_teams`,
        codehost.kind === 'gitlab' && Object.keys(codehost.allowed_teams).length > 0 && NO_TEAMS,
      ],
      ...strangers.map(
        (name): Finding => [`${BASE}.codehost.allowed_teams`, `organization "${name}" is not in allowed_organizations`],
      ),
    ]
  },
  orchestrator: () => [],
}

const methods = ({ authentication: { required, methods } }: Config): readonly Finding[] => {
  const { jwt, ...offered } = methods
  const none = !Object.values(offered).some(({ enabled }) => enabled)
  return [
    ['authentication.required', required && none && 'is true, but no method is enabled: no client could get a token'],
    [`${BASE}.jwt.enabled`, jwt.enabled && 'the method jwt is reserved and not available in this version'],
    ...Object.values(findingsOf).flatMap((findings) => findings(methods)),
  ]
}

const names = ({ identifiers }: Config): readonly Finding[] => {
  const { codehost, orchestrator, orchestrator_metadata } = identifiers
  const { codehost: _codehost, orchestrator: _orchestrator, ...fixed } = methodWords(identifiers)
  const taken = [...Object.values(fixed), 'jwt', 'none']
  const clash = 'is the identifier of another method'
  return [
    ['identifiers.codehost', taken.includes(codehost) && clash],
    ['identifiers.orchestrator', (taken.includes(orchestrator) || orchestrator === codehost) && clash],
    [
      'identifiers.orchestrator_metadata',
      orchestrator_metadata !== orchestrator &&
        (taken.includes(orchestrator_metadata) || orchestrator_metadata === codehost) &&
        clash,
    ],
  ]
}

const server = ({ server, cors, storage, eventstore, mongodb, redis }: Config): readonly Finding[] => {
  const https = server.protocol === 'https'
  const urls = Object.entries({ eventstore, mongodb, redis })
  return [
    ...(['cert_file', 'cert_key'] as const).map((key): Finding => {
      const path = server[key]
      const wrong = () => (path === undefined ? 'is required when server.protocol is https' : unreadable(path))
      return [`server.${key}`, https && wrong()]
    }),
    [
      'server.headers_timeout',
      server.headers_timeout > server.request_timeout && 'must not be longer than server.request_timeout',
    ],
    [
      'cors.allowed_origins',
      cors.enabled && cors.allowed_origins.length === 0 && 'must contain an origin when cors is enabled',
    ],
    ...urls.map(
      ([name, { url }]): Finding => [
        `${name}.url`,
        storage.type === 'cluster' && url === undefined && 'is required when storage.type is cluster',
      ],
    ),
  ]
}

/** Errors of settings that contradict each other. */
export const errors = (config: Config): readonly Finding[] =>
  [
    ['authentication.open_on_purpose', unknownWarnings(config)] as const,
    ...methods(config),
    ...reachErrors(config),
    ...metadata(config),
    ...names(config),
    ...server(config),
    ...loginFindings(config),
    ...accessErrors(config),
  ].filter(([, description]) => description)

const UNCHECKED = ['tlsinsecure', 'tlsallowinvalidcertificates', 'tlsallowinvalidhostnames']

/** True if the address of MongoDB switches a check of certificates off. The driver ignores the case of option names. */
const isUnchecked = (address: string): boolean =>
  Array.from(new URLSearchParams(address.slice(address.indexOf('?') + 1))).some(
    ([name, value]) => UNCHECKED.includes(name.toLowerCase()) && value === 'true',
  )

/** Warnings about probable mistakes, with which the service can run. */
export const warnings = (config: Config): readonly string[] => {
  const { authentication, storage, eventstore, mongodb, redis } = config
  const { oidc } = authentication.methods
  const found: readonly Finding[] = [
    ...Object.entries({ eventstore, mongodb, redis }).map(
      ([name, { url }]): Finding => [
        `${name}.url`,
        storage.type === 'embedded' && url !== undefined && 'has no effect, because storage.type is embedded',
      ],
    ),
    [
      'mongodb.url',
      storage.type === 'cluster' &&
        isUnchecked(mongodb.url!) &&
        'does not check the certificate of the server, so another server can pose as MongoDB and receive its password and the keys: set tlsCAFile instead of tlsInsecure and tlsAllowInvalid…',
    ],
    [
      'authentication.methods.oidc.providers',
      oidc.enabled && oidc.providers.size === 0 && 'is empty, so OpenID Connect logins are impossible',
    ],
    [
      'authentication.methods.orchestrator.audiences',
      authentication.methods.orchestrator.enabled &&
        authentication.methods.orchestrator.audiences.length === 0 &&
        'is empty, so a program that can read the default token of a pod can exchange it for a client token',
    ],
    ...accessWarnings(config),
    ...memoryWarnings(config),
  ]
  return found.filter(([, description]) => description).map(([key, description]) => `${key} ${String(description)}`)
}

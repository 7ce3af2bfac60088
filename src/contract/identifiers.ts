import type { Method } from '../events/token.ts'

export type { Method }

/** Identifiers that a deployment can configure, by the names of their settings (api.md §12.6). */
type Identifiers = {
  readonly service: string
  readonly codehost: string
  readonly orchestrator: string
  readonly orchestrator_metadata: string
}

type Words = Readonly<Record<Method, string>>

/** Identifier of each method in paths and method names. `token` and `oidc` are fixed. */
export const methodWords = ({ codehost, orchestrator }: Identifiers): Words => ({
  token: 'token',
  oidc: 'oidc',
  codehost,
  orchestrator,
})

/** Identifier of each method in metadata keys. */
const metadataWords = ({ codehost, orchestrator_metadata }: Identifiers): Words => ({
  token: 'token',
  oidc: 'oidc',
  codehost,
  orchestrator: orchestrator_metadata,
})

/** Wire number of each method (api.md §5.1). 0 is no method, 5 is reserved for JWT. */
const numbers: Readonly<Record<Method, number>> = { token: 1, oidc: 2, orchestrator: 3, codehost: 4 }
const methods = Object.keys(numbers) as readonly Method[]

/** Attributes without a method prefix. */
const COMMON = ['claims', 'email', 'name', 'picture', 'erased', 'lost']

/**
 * Returns a test for metadata keys that only the service sets (api.md §5.4 A7), with the configured and the default
 * identifiers.
 */
const reserved = (identifiers: Identifiers): ((key: string) => boolean) => {
  const groups = [...methods, ...Object.values(methodWords(identifiers)), ...Object.values(metadataWords(identifiers))]
  const prefixes = ['service', identifiers.service].map((word) => `io.${word}.auth.`)
  const keys = new Set(prefixes.flatMap((prefix) => COMMON.map((attribute) => prefix + attribute)))
  const starts = prefixes.flatMap((prefix) => groups.map((group) => `${prefix}${group}.`))
  return (key) => keys.has(key) || starts.some((start) => key.startsWith(start))
}

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

/** All names derived from the identifiers: cookies, headers, metadata keys, method names, metric prefix. */
export const namesOf = (identifiers: Identifiers) => {
  const { service, codehost, orchestrator } = identifiers
  const words = methodWords(identifiers)
  const wireNames = Object.fromEntries(
    methods.map((method) => [method, `METHOD_${words[method].toUpperCase()}`]),
  ) as Words
  return {
    tokenCookie: `${service}_client_token`,
    stateCookie: `${service}_client_state`,
    namespaceHeader: `x-${service}-namespace`,
    acceptVersionHeader: `x-${service}-accept-server-version`,
    /** Name of the header of a list with the number of documents that the list omits because they are unreadable. */
    unreadableHeader: service === 'service' ? 'rollcall-unreadable' : `${service}-unreadable`,
    metricPrefix: service === 'service' ? 'rollcall_' : `${service}_`,
    codehostPath: codehost,
    orchestratorPath: orchestrator,
    /** Wire name of each method, such as METHOD_TOKEN. */
    method: wireNames,
    /** Method of a wire name; undefined for methods without records. */
    methodNamed: (name: string): Method | undefined => methods.find((method) => wireNames[method] === name),
    /** Wire name → number, including NONE and the reserved JWT (api.md §5.1). */
    methodNumbers: {
      METHOD_NONE: 0,
      ...Object.fromEntries(methods.map((method) => [wireNames[method], numbers[method]])),
      METHOD_JWT: 5,
    } as Readonly<Record<string, number>>,
    /** Prefix of all metadata keys, and the identifier of each method in them. */
    metadataPrefix: `io.${service}.auth.`,
    metadataWords: metadataWords(identifiers),
    isReserved: reserved(identifiers),
    /** Header name as written in documentation: `X-Service-Namespace`. */
    namespaceHeaderTitle: `X-${capital(service)}-Namespace`,
  }
}

export type Names = ReturnType<typeof namesOf>

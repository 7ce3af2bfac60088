/** The words that a deployment may choose (api.md §12.6). */
export type Identifiers = {
  readonly service: string
  readonly codehost: string
  readonly orchestrator: string
  readonly orchestratorMetadata: string
}

/** The ways to a client token, in the neutral words. */
export type Method = 'token' | 'oidc' | 'codehost' | 'orchestrator'
export const methods = ['token', 'oidc', 'codehost', 'orchestrator'] as const satisfies readonly Method[]

const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

/** Every name that follows from the identifiers: cookies, headers, metadata keys, method names, metric prefix. */
export const namesOf = ({ service, codehost, orchestrator, orchestratorMetadata }: Identifiers) => {
  const words: Readonly<Record<Method, string>> = { token: 'token', oidc: 'oidc', codehost, orchestrator }
  const groups: Readonly<Record<string, string>> = {
    token: 'token',
    oidc: 'oidc',
    codehost,
    orchestrator: orchestratorMetadata,
  }
  const prefix = `io.${service}.auth.`
  const reserved = ['service', service].flatMap((word) => {
    const own = ['token', 'oidc', 'codehost', 'orchestrator', codehost, orchestrator, orchestratorMetadata]
    return own.map((group) => `io.${word}.auth.${group}.`)
  })
  const common = ['service', service].flatMap((word) =>
    ['claims', 'email', 'name', 'picture'].map((key) => `io.${word}.auth.${key}`),
  )
  return {
    tokenCookie: `${service}_client_token`,
    stateCookie: `${service}_client_state`,
    namespaceHeader: `x-${service}-namespace`,
    acceptVersionHeader: `x-${service}-accept-server-version`,
    metricPrefix: service === 'service' ? 'rollcall_' : `${service}_`,
    codehostPath: codehost,
    orchestratorPath: orchestrator,
    /** Wire name of a method: METHOD_TOKEN. */
    method: (method: Method): string => `METHOD_${words[method].toUpperCase()}`,
    /** The method of a wire name, undefined for those without records. */
    methodNamed: (name: string): Method | undefined =>
      methods.find((method) => `METHOD_${words[method].toUpperCase()}` === name),
    /** Wire name → number, NONE and the reserved JWT included (api.md §5.1). */
    methodNumbers: {
      METHOD_NONE: 0,
      METHOD_TOKEN: 1,
      METHOD_OIDC: 2,
      [`METHOD_${orchestrator.toUpperCase()}`]: 3,
      [`METHOD_${codehost.toUpperCase()}`]: 4,
      METHOD_JWT: 5,
    } as Readonly<Record<string, number>>,
    /** Metadata key of an attribute: `token.name` → `io.service.auth.token.name`. */
    metadataKey: (attribute: string): string => {
      const dot = attribute.indexOf('.')
      const group = dot < 0 ? undefined : groups[attribute.slice(0, dot)]
      return prefix + (group === undefined ? attribute : `${group}${attribute.slice(dot)}`)
    },
    /** True for a metadata key that only the service sets (api.md §5.4 A7). */
    isReserved: (key: string): boolean => common.includes(key) || reserved.some((group) => key.startsWith(group)),
    /** A header in the spelling of documentation: `X-Service-Namespace`. */
    namespaceHeaderTitle: `X-${capital(service)}-Namespace`,
  }
}

export type Names = ReturnType<typeof namesOf>

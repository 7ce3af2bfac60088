import type { Method } from '../../../src/contract/identifiers.ts'

/** Texts of a login method. */
type MethodWords = {
  /** Completes "Signed in with", and names a provider that has no name. */
  readonly with: string
  /** Name in the list of sessions. */
  readonly session: string
}

export const methodWords: Readonly<Record<Method, MethodWords>> = {
  token: { with: 'a client token', session: 'Static token' },
  oidc: { with: 'OpenID Connect', session: 'OpenID Connect' },
  codehost: { with: 'the code host', session: 'Code host' },
  orchestrator: { with: 'a service account', session: 'Service account' },
}

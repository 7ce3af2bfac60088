/** Types for the parts of oidc-provider that the stand-in uses, because the package has no types. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http'

  type Grant = { readonly addOIDCScope: (scope: string) => void; readonly save: () => Promise<string> }
  export class Provider {
    constructor(issuer: string, configuration: object)
    callback(): RequestListener
    readonly Grant: new (of: {
      readonly clientId: string
      readonly accountId: string
    }) => Grant
  }
}

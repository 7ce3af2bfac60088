import { createServer } from 'node:http'
import { Provider } from 'oidc-provider'

/** An OpenID Connect provider to try logins with: any name logs in, with any password. For one's own machine only. */
const { PORT = '9090', CLIENT_ID = 'rollcall', CLIENT_SECRET = 'a-secret-for-trying-only', CALLBACK } = process.env
const issuer = `http://localhost:${PORT}`
const callback = CALLBACK ?? 'http://localhost:8080/auth/v1/method/oidc/local/callback'

const provider = new Provider(issuer, {
  clients: [{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [callback] }],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  // Claims in the ID token itself: Rollcall never asks the userinfo endpoint.
  conformIdTokenClaims: false,
  cookies: { keys: ['for trying only'] },
  findAccount: (_context, name) => ({
    accountId: name,
    claims: () => ({ sub: name, name, email: `${name}@example.com`, email_verified: true }),
  }),
  // Nobody is asked for consent: one page less.
  loadExistingGrant: async ({ oidc: { client, session, params } }) => {
    const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
    grant.addOIDCScope(params.scope)
    await grant.save()
    return grant
  },
})
createServer(provider.callback()).listen(Number(PORT), 'localhost', () =>
  console.log(`${issuer} is ready for ${callback}`),
)

import { host, issuer, origin, safeUrl, url } from './addresses.ts'
import { empty, list, map, record } from './collections.ts'
import { anyText, bool, duration, emailPattern, ignored, oneOf, path, secret, text, tokenText } from './kinds.ts'
import { type Derived, required, set } from './setting.ts'

const none = undefined
const SECRETS = '/var/run/secrets/kubernetes.io/serviceaccount'
const publicUrl: Derived<string | undefined> = {
  shown: '`server.public_url`',
  from: (get) => get('server.public_url') as string | undefined,
}
const cleanup = (method: string) => ({
  interval: set(duration, 3_600_000, `Time between two runs that delete expired ${method} tokens.`),
  grace_period: set(duration, 1_800_000, `How long an expired ${method} token stays listed before it is deleted.`),
})

/** The settings under `authentication` (api.md §12.2). */
export const authentication = {
  required: set(bool, true, 'Protected operations need a client token.'),
  exclude: {
    management: set(bool, false, 'Leave /api/v1 open.'),
    evaluation: set(bool, false, 'Leave /evaluate/v1 and /internal/v1/evaluation open.'),
    ofrep: set(bool, false, 'Leave /ofrep open.'),
  },
  open_on_purpose: set(
    list(text),
    [],
    'Doors that are meant to stand open, so that a start does not warn of them: required, exclude.management, exclude.evaluation, exclude.ofrep, oidc.<provider>, codehost, orchestrator, forwarded.',
  ),
  session: {
    domain: set(host, none, 'Domain of the cookies; a scheme and a port are cut off.'),
    secure: set(
      bool,
      { shown: '`true` when server.public_url is https', from: (get): boolean => /^https:/i.test(String(get('server.public_url'))) },
      'Send the cookies over https only.',
    ),
    token_lifetime: set(duration, 86_400_000, 'Life of the tokens and cookies that logins make.'),
    state_lifetime: set(duration, 600_000, 'Time a login may take from authorize to callback.'),
    csrf: {
      trusted_origins: set(list(origin), [], 'Further origins whose pages may send writes with the cookie.'),
      key: set(ignored, none, 'Accepted without effect.'),
      secure: set(ignored, none, 'Accepted without effect: the check is always on.'),
    },
  },
  methods: {
    token: {
      enabled: set(bool, true, 'Static tokens.'),
      bootstrap: {
        token: set(tokenText, none, 'Value of the first token; a random one is made and logged once when not set.'),
        expiration: set(duration, none, 'Life of the first token from its creation; for ever when not set.'),
        metadata: set(map(anyText), empty, 'Further metadata of the first token.'),
      },
      cleanup: cleanup('static'),
    },
    oidc: {
      enabled: set(bool, false, 'Login through OpenID Connect providers.'),
      email_matches: set(list(emailPattern), [], 'Patterns (RE2), one of which must match the whole e-mail address; empty admits all.'),
      providers: {
        names: /^[a-z0-9][a-z0-9_-]{0,62}$/,
        sentence: 'The providers by name.',
        each: {
          issuer_url: set(issuer, required, 'Issuer, exactly as the provider states it; https, or http on a loopback host.'),
          client_id: set(text, required, 'Client id that the provider gave.'),
          client_secret: set(secret, required, 'Client secret that the provider gave.'),
          redirect_address: set(url, publicUrl, 'Base URL that the provider sends browsers back to.'),
          scopes: set(list(text), [], 'Scopes to ask for; openid is added.'),
          nonce: set(ignored, none, 'Accepted without effect: a nonce is always fresh.'),
          use_pkce: set(ignored, none, 'Accepted without effect: PKCE is always on.'),
        },
      },
      cleanup: cleanup('OpenID Connect'),
    },
    codehost: {
      enabled: set(bool, false, 'Login through a code host (OAuth 2.0).'),
      client_id: set(text, none, 'Client id that the code host gave, needed when enabled.'),
      client_secret: set(secret, none, 'Client secret that the code host gave, needed when enabled.'),
      redirect_address: set(url, publicUrl, 'Base URL that the code host sends browsers back to.'),
      server_url: set(url, 'https://github.com', 'Where users log in.'),
      api_url: set(url, 'https://api.github.com', 'Where users, organizations and teams are asked for.'),
      scopes: set(list(text), [], 'Scopes to ask for; must hold read:org when organizations or teams are restricted.'),
      allowed_organizations: set(list(text), [], 'Organizations whose members may log in; empty admits all.'),
      allowed_teams: set(map(list(text)), empty, 'Teams, by organization, whose members may log in; empty admits all.'),
      cleanup: cleanup('code-host'),
    },
    orchestrator: {
      enabled: set(bool, false, 'Exchange of service-account tokens.'),
      verification: set(oneOf('token_review', 'jwks'), 'token_review', 'Ask the cluster about each token, or check its signature here.'),
      audiences: set(list(text), [], 'Audiences, one of which a service-account token must have; empty accepts all.'),
      allowed: set(
        list(record({ namespace: text, service_accounts: list(text) })),
        [],
        'Service accounts that may exchange, * matches all; empty admits every one of the cluster.',
      ),
      discovery_url: set(
        safeUrl,
        'https://kubernetes.default.svc.cluster.local',
        'API server of the cluster; http only on a loopback host.',
      ),
      ca_path: set(path, `${SECRETS}/ca.crt`, 'Certificate authority of the API server, needed for https.'),
      service_account_token_path: set(path, `${SECRETS}/token`, 'Our own token for the API server; read again when it changes.'),
      cleanup: cleanup('orchestrator'),
    },
    jwt: {
      enabled: set(bool, false, 'Reserved: not offered in this version, true is an error.'),
    },
  },
} as const

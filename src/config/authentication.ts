import type { Method } from '../events/token.ts'
import { host, origin, url } from './addresses.ts'
import { authorizeParameters } from './authorize-parameters.ts'
import { apiUrl, serverUrl } from './codehost-addresses.ts'
import { empty, list, map, record } from './collections.ts'
import { oidcProvider, redirectAddress } from './oidc-provider.ts'
import { authority, ownProxy } from './outgoing.ts'
import { setting } from './setting.ts'
import { anyText, bool, duration, emailPattern, ignored, label, oneOf, path, secret, text, tokenText } from './types.ts'

const none = undefined
const SECRETS = '/var/run/secrets/kubernetes.io/serviceaccount'
const cleanup = (method: string) => ({
  interval: setting(duration, 3_600_000, `Time between two runs that delete expired ${method} tokens.`),
  grace_period: setting(duration, 1_800_000, `How long an expired ${method} token stays listed before it is deleted.`),
})

/** The settings under `authentication` (api.md §12.2). */
export const authentication = {
  required: setting(bool, true, 'Protected operations need a client token.'),
  exclude: {
    management: setting(bool, false, 'Leave /api/v1 open.'),
    evaluation: setting(bool, false, 'Leave /evaluate/v1 and /internal/v1/evaluation open.'),
    ofrep: setting(bool, false, 'Leave /ofrep open.'),
  },
  open_on_purpose: setting(
    list(text),
    [],
    'Doors that are meant to stand open, so that a start does not warn of them: required, exclude.management, exclude.evaluation, exclude.ofrep, oidc.<provider>, codehost, orchestrator, forwarded.',
  ),
  session: {
    domain: setting(host, none, 'Domain of the cookies; a scheme and a port are cut off.'),
    secure: setting(
      bool,
      {
        shown: '`true` when server.public_url is https',
        from: (get): boolean => /^https:/i.test(String(get('server.public_url'))),
      },
      'Send the cookies over https only.',
    ),
    token_lifetime: setting(duration, 86_400_000, 'Life of the tokens and cookies that logins make.'),
    state_lifetime: setting(duration, 600_000, 'Time a login may take from authorize to callback.'),
    csrf: {
      trusted_origins: setting(list(origin), [], 'Further origins whose pages may send writes with the cookie.'),
      key: setting(ignored, none, 'Accepted without effect.'),
      secure: setting(ignored, none, 'Accepted without effect: the check is always on.'),
    },
  },
  methods: {
    token: {
      enabled: setting(bool, true, 'Static tokens.'),
      bootstrap: {
        token: setting(tokenText, none, 'Value of the first token; a random one is made and logged once when not set.'),
        expiration: setting(duration, none, 'Life of the first token from its creation; for ever when not set.'),
        metadata: setting(map(anyText), empty, 'Further metadata of the first token.'),
      },
      cleanup: cleanup('static'),
    },
    oidc: {
      enabled: setting(bool, false, 'Login through OpenID Connect providers.'),
      email_matches: setting(
        list(emailPattern),
        [],
        'Patterns (RE2), one of which must match the whole e-mail address; empty admits all.',
      ),
      providers: {
        names: /^[a-z0-9][a-z0-9_-]{0,62}$/,
        sentence: 'The providers by name.',
        each: oidcProvider,
      },
      cleanup: cleanup('OpenID Connect'),
    },
    codehost: {
      enabled: setting(bool, false, 'Login through a code host (OAuth 2.0).'),
      display_name: setting(label, none, 'What the sign-in page calls the code host; at most 64 characters.'),
      client_id: setting(text, none, 'Client id that the code host gave, needed when enabled.'),
      client_secret: setting(secret, none, 'Client secret that the code host gave, needed when enabled.'),
      redirect_address: redirectAddress('code host'),
      kind: setting(
        oneOf('github', 'gitea', 'gitlab'),
        'github',
        'What the code host is: GitHub and GitHub Enterprise Server, Gitea and Forgejo, or GitLab.',
      ),
      server_url: setting(url, serverUrl, 'Where users log in.'),
      api_url: setting(url, apiUrl, 'Where users, organizations and teams are asked for.'),
      ca_path: authority('code host'),
      proxy: ownProxy('code host'),
      scopes: setting(
        list(text),
        [],
        'Scopes to ask for; where organizations or teams are restricted it must hold read:org (GitHub), read:organization (Gitea) or read_api (GitLab).',
      ),
      authorize_parameters: setting(
        authorizeParameters,
        empty,
        'Further parameters of the address that browsers are sent to, such as allow_signup; none that the login sends itself.',
      ),
      allowed_organizations: setting(list(text), [], 'Organizations whose members may log in; empty admits all.'),
      allowed_teams: setting(
        map(list(text)),
        empty,
        'Teams, by organization, whose members may log in; empty admits all.',
      ),
      cleanup: cleanup('code-host'),
    },
    orchestrator: {
      enabled: setting(bool, false, 'Exchange of service-account tokens.'),
      verification: setting(
        oneOf('token_review', 'jwks'),
        'token_review',
        'Ask the cluster about each token, or check its signature here.',
      ),
      audiences: setting(
        list(text),
        [],
        'Audiences, one of which a service-account token must have; empty accepts all, the token that every pod has by default too.',
      ),
      issuers: setting(
        list(text),
        [],
        'Issuers that are accepted beside the one that the cluster names, with verification jwks: the former one while the issuer of a cluster changes.',
      ),
      max_lifetime: setting(
        duration,
        none,
        'Longest life of a token from an exchange; not set, it ends with the presented one.',
      ),
      allowed: setting(
        list(record({ namespace: text, service_accounts: list(text) }, {})),
        [],
        'Service accounts that may exchange, * matches all; empty admits every one of the cluster.',
      ),
      discovery_url: setting(
        url,
        'https://kubernetes.default.svc.cluster.local',
        'API server of the cluster; http only on a loopback host or one of outgoing.http_hosts.',
      ),
      ca_path: setting(path, `${SECRETS}/ca.crt`, 'Certificate authority of the API server, needed for https.'),
      proxy: ownProxy('cluster'),
      service_account_token_path: setting(
        path,
        `${SECRETS}/token`,
        'Our own token for the API server; read again when it changes.',
      ),
      cleanup: cleanup('orchestrator'),
    },
    jwt: {
      enabled: setting(bool, false, 'Reserved: not offered in this version, true is an error.'),
    },
  } satisfies Readonly<Record<Method | 'jwt', object>>,
} as const

import type { Method } from '../../events/token.ts'
import { clusterUrl, host, origin, url } from '../addresses.ts'
import { empty, list, map, record } from '../collections.ts'
import { type Derived, setting } from '../setting.ts'
import {
  anyText,
  bool,
  duration,
  emailPattern,
  ignored,
  kubernetesName,
  label,
  oneOf,
  organization,
  path,
  secret,
  slug,
  text,
  tokenText,
} from '../types.ts'
import { authorizeParameters, oidcProvider, redirectAddress } from './oidc-provider.ts'
import { authority, ownProxy } from './outgoing.ts'

const CODEHOST = 'authentication.methods.codehost'
const GITHUB = 'https://github.com'
/**
 * Login URL of the code host. A default exists only for known hosts, so that a client secret is sent only to a
 * configured host.
 */
const serverUrl: Derived<string | undefined> = {
  shown: `\`${GITHUB}\` or \`https://gitlab.com\`, required when kind is gitea`,
  from: (get) => ({ github: GITHUB, gitlab: 'https://gitlab.com' })[String(get(`${CODEHOST}.kind`))],
}
/**
 * API URL of the code host. The default follows `server_url`, so that user tokens of a private host are sent only
 * there.
 */
const apiUrl: Derived<string | undefined> = {
  shown:
    '`<server_url>/api/v3`, for `https://github.com` `https://api.github.com`; for gitea `<server_url>/api/v1`, for gitlab `<server_url>/api/v4`',
  from: (get) => {
    const host = (get(`${CODEHOST}.server_url`) as string | undefined)?.replace(/\/+$/, '')
    const kind = get(`${CODEHOST}.kind`)
    if (host === undefined) return undefined
    if (kind === 'gitea') return `${host}/api/v1`
    if (kind === 'gitlab') return `${host}/api/v4`
    return host === GITHUB ? 'https://api.github.com' : `${host}/api/v3`
  },
}

const none = undefined
const SECRETS = '/var/run/secrets/kubernetes.io/serviceaccount'
const cleanup = (method: string) => ({
  interval: setting(duration, 3_600_000, `Interval at which expired ${method} tokens are deleted.`),
  grace_period: setting(
    duration,
    1_800_000,
    `Time from the expiry of a ${method} token to its deletion; until its deletion, lists contain the token.`,
  ),
})

/** Settings under `authentication` (api.md §12.2). */
export const authentication = {
  required: setting(bool, true, 'Require a client token for protected operations.'),
  exclude: {
    management: setting(bool, false, 'Allow /api/v1 without a token.'),
    evaluation: setting(bool, false, 'Allow /evaluate/v1 and /internal/v1/evaluation without a token.'),
    ofrep: setting(bool, false, 'Allow /ofrep without a token.'),
  },
  open_on_purpose: setting(
    list(text),
    [],
    'Intentionally open access, for which a start logs no warning: required, exclude.management, exclude.evaluation, exclude.ofrep, oidc.<provider>, codehost, orchestrator, forwarded.',
  ),
  session: {
    domain: setting(host, none, 'Domain of the cookies; a scheme and a port are removed.'),
    secure: setting(
      bool,
      {
        shown: '`true` when server.public_url is https',
        from: (get): boolean => /^https:/i.test(String(get('server.public_url'))),
      },
      'Send cookies only over https.',
    ),
    token_lifetime: setting(duration, 86_400_000, 'Lifetime of tokens and cookies from logins.'),
    state_lifetime: setting(duration, 600_000, 'Maximum time of a login from authorize to callback.'),
    csrf: {
      trusted_origins: setting(list(origin), [], 'Additional origins whose pages may send writes with the cookie.'),
      key: setting(ignored, none, 'Accepted without effect.'),
      secure: setting(ignored, none, 'Accepted for compatibility, without effect: the check is always on.'),
    },
  },
  methods: {
    token: {
      enabled: setting(bool, true, 'Enable static tokens.'),
      bootstrap: {
        token: setting(tokenText, none, 'Value of the first token. Default: a random value, which is logged once.'),
        expiration: setting(duration, none, 'Lifetime of the first token from its creation. Default: unlimited.'),
        metadata: setting(map(anyText), empty, 'Additional metadata of the first token.'),
      },
      cleanup: cleanup('static'),
    },
    oidc: {
      enabled: setting(bool, false, 'Enable login through OpenID Connect providers.'),
      email_matches: setting(
        list(emailPattern),
        [],
        'RE2 patterns for e-mail addresses; a person may log in if one pattern matches the whole address. Empty: every address.',
      ),
      providers: {
        names: /^[a-z0-9][a-z0-9_-]{0,62}$/,
        sentence: 'The providers by name.',
        each: oidcProvider,
      },
      cleanup: cleanup('OpenID Connect'),
    },
    codehost: {
      enabled: setting(bool, false, 'Enable login through a code host (OAuth 2.0).'),
      display_name: setting(label, none, 'Name of the code host on the sign-in page; at most 64 characters.'),
      client_id: setting(text, none, 'Client id from the code host; required when enabled.'),
      client_secret: setting(secret, none, 'Client secret from the code host; required when enabled.'),
      redirect_address: redirectAddress('code host'),
      kind: setting(
        oneOf('github', 'gitea', 'gitlab'),
        'github',
        'Kind of the code host: GitHub and GitHub Enterprise Server, Gitea and Forgejo, or GitLab.',
      ),
      server_url: setting(url, serverUrl, 'URL at which users log in.'),
      api_url: setting(url, apiUrl, 'URL of the API for users, organizations and teams.'),
      ca_path: authority('code host'),
      proxy: ownProxy('code host'),
      scopes: setting(
        list(text),
        [],
        'Requested scopes. If organizations or teams are restricted, read:org (GitHub), read:organization (Gitea) or read_api (GitLab) is required.',
      ),
      authorize_parameters: setting(
        authorizeParameters,
        empty,
        'Additional parameters of the authorize URL, such as allow_signup. Parameters that Rollcall sends itself are not allowed.',
      ),
      allowed_organizations: setting(
        list(organization),
        [],
        'Organizations whose members may log in. Empty: every account of the code host.',
      ),
      allowed_teams: setting(
        map(list(slug)),
        empty,
        'Teams, by organization, whose members may log in. Empty: all members of the allowed organizations.',
      ),
      cleanup: cleanup('code-host'),
    },
    orchestrator: {
      enabled: setting(bool, false, 'Enable the exchange of service-account tokens.'),
      verification: setting(
        oneOf('token_review', 'jwks'),
        'token_review',
        'Verification of a service-account token: by the Kubernetes cluster (TokenReview), or by its signature with the public keys of the cluster.',
      ),
      audiences: setting(
        list(text),
        [],
        'Accepted audiences; a service-account token must have one of them. Empty: every token of the cluster is accepted, including the default token of every pod.',
      ),
      issuers: setting(
        list(text),
        [],
        'With verification jwks, issuers that are accepted in addition to the issuer of the cluster, such as its former issuer.',
      ),
      max_lifetime: setting(
        duration,
        none,
        'Maximum lifetime of a client token from an exchange. Default: it expires together with the service-account token.',
      ),
      allowed: setting(
        list(record({ namespace: kubernetesName, service_accounts: list(kubernetesName) }, {})),
        [],
        'Service accounts that may exchange tokens; * stands for all accounts of a namespace. Empty: every service account of the cluster.',
      ),
      discovery_url: setting(
        clusterUrl,
        'https://kubernetes.default.svc.cluster.local',
        'URL of the API server of the cluster; http only for loopback and outgoing.http_hosts.',
      ),
      ca_path: setting(
        path,
        `${SECRETS}/ca.crt`,
        'File with the certificate authority of the API server (PEM); required for https.',
      ),
      proxy: ownProxy('cluster'),
      service_account_token_path: setting(
        path,
        `${SECRETS}/token`,
        'File with the token of this service for the API server; reloaded when it changes.',
      ),
      cleanup: cleanup('orchestrator'),
    },
    jwt: {
      enabled: setting(bool, false, 'Reserved: not available in this version; true is an error.'),
    },
  } satisfies Readonly<Record<Method | 'jwt', object>>,
} as const

import { bytesNow } from '../../base/regular-file.ts'
import { accessPolicy } from '../../config/checks/access-rules.ts'
import type { Config } from '../../config/load.ts'
import { namesOf } from '../../contract/identifiers.ts'
import type { HttpSettings } from '../../http/server.ts'
import type { Settings } from '../../http/services/commands.ts'

/** Settings of the HTTP server. Reads the certificate. */
export const serverSettings = ({ server, cors, identifiers }: Config): HttpSettings => ({
  bodyLimit: server.body_limit,
  publishedBodyLimit: server.published_body_limit,
  headersTimeout: server.headers_timeout,
  requestTimeout: server.request_timeout,
  keepAliveTimeout: server.keep_alive_timeout,
  trustProxy: server.trust_proxy,
  ...(server.protocol === 'https'
    ? { tls: { cert: bytesNow(server.cert_file!), key: bytesNow(server.cert_key!) } }
    : {}),
  ...(cors.enabled
    ? {
        cors: {
          origins: cors.allowed_origins,
          headers: cors.allowed_headers,
          exposed: [namesOf(identifiers).unreadableHeader],
        },
      }
    : {}),
})

/** Settings of the routes. */
export const serviceSettings = (config: Config): Settings => {
  const { authentication, server, cors, storage, rate_limit, metrics, ui } = config
  const { session } = authentication
  return {
    required: authentication.required,
    exclude: authentication.exclude,
    eventStreams: config.ofrep.event_streams,
    readOnly: storage.read_only,
    rateLimited: rate_limit.enabled,
    clientLimit: rate_limit.client,
    access: accessPolicy(config),
    requireReason: config.authorization.require_reason,
    session: {
      domain: session.domain,
      secure: session.secure,
      tokenLifetime: session.token_lifetime,
      stateLifetime: session.state_lifetime,
      trustedOrigins: session.csrf.trusted_origins,
    },
    publicUrl: server.public_url,
    allowedHosts: server.allowed_hosts,
    corsOrigins: cors.enabled ? cors.allowed_origins : [],
    mostBytes: server.max_response_bytes,
    publishedMostBytes: server.published_max_response_bytes,
    trustProxy: server.trust_proxy,
    metricsHere: metrics.enabled && metrics.address === undefined,
    ui: {
      enabled: ui.enabled,
      theme: ui.default_theme,
      topbarColor: ui.topbar.color ?? '',
      topbarLabel: ui.topbar.label ?? '',
    },
  }
}

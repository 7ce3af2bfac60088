import { baseUrl, hostOrBelow, listenHost, proxies } from '../addresses.ts'
import { list } from '../collections.ts'
import { setting } from '../setting.ts'
import { duration, integer, oneOf, path } from '../types.ts'

const none = undefined

/** Settings under `server` (api.md §12.3). */
export const server = {
  protocol: setting(oneOf('http', 'https'), 'http', 'Protocol of the service; https requires TLS 1.2 or later.'),
  host: setting(listenHost, '0.0.0.0', 'Address to listen on.'),
  http_port: setting(integer(0, 65_535), 8080, 'Port for http; 0 selects a free port.'),
  https_port: setting(integer(0, 65_535), 443, 'Port for https; 0 selects a free port.'),
  cert_file: setting(path, none, 'File with the certificate chain (PEM), required for https.'),
  cert_key: setting(path, none, 'File with the private key (PEM) of the certificate, required for https.'),
  public_url: setting(baseUrl, none, 'Base URL for browsers and clients, including a path prefix.'),
  trust_proxy: setting(
    proxies,
    false,
    'Proxies whose headers X-Forwarded-For, -Proto, -Host and -Prefix are trusted: true (all clients), false (none), or a list of addresses and networks.',
  ),
  allowed_hosts: setting(
    list(hostOrBelow),
    [],
    'Host names allowed in requests without a credential, if `authentication.required` is false or `exclude.management` is true: `flags.example.com`, or `.example.com` for all names below. Addresses, names without a dot, localhost and the host of server.public_url are always allowed.',
  ),
  body_limit: setting(
    integer(1, 2 ** 31 - 1),
    4_194_304,
    'Maximum request body in bytes; under /auth/v1 at most 65536.',
  ),
  published_body_limit: setting(
    integer(1, 2 ** 31 - 1),
    262_144,
    'Maximum request body in bytes for publishable tokens, whose only right is flag.evaluate; at most body_limit.',
  ),
  max_response_bytes: setting(
    integer(65_536, 2 ** 30),
    33_554_432,
    'Maximum size in bytes of the answer to a batch or bulk request, and of a page of a list.',
  ),
  published_max_response_bytes: setting(
    integer(65_536, 2 ** 30),
    4_194_304,
    'Maximum size in bytes of an answer to a publishable token, whose only right is flag.evaluate; at most max_response_bytes.',
  ),
  headers_timeout: setting(duration, 5000, 'Maximum time for a client to send the headers of a request.'),
  request_timeout: setting(duration, 10_000, 'Maximum time for a client to send a whole request.'),
  keep_alive_timeout: setting(
    duration,
    72_000,
    'Time after which a connection without a request is closed. Set it longer than the idle time of the load balancer or proxy in front, which must close its connections first.',
  ),
  streams: {
    max: setting(
      integer(1, 1_000_000),
      10_000,
      'Maximum number of open streams about flags on an instance: events of OFREP, and snapshots. Publishable tokens have a quarter of them, each network a sixteenth, the tokens of one holder three quarters.',
    ),
    per_credential: setting(
      integer(1, 1_000_000),
      100,
      'Maximum number of open streams about flags of one credential.',
    ),
    per_address: setting(
      integer(1, 1_000_000),
      50,
      'Maximum number of open streams about flags of one client address, for publishable tokens and clients without a credential.',
    ),
  },
  shutdown_grace: setting(
    duration,
    10_000,
    'Maximum duration of a shutdown. Requests that still run after four fifths of this time are aborted.',
  ),
} as const

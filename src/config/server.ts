import { hostOrBelow, listenHost, proxies, url } from './addresses.ts'
import { list } from './collections.ts'
import { setting } from './setting.ts'
import { duration, integer, oneOf, path } from './types.ts'

const none = undefined

/** The settings under `server` (api.md §12.3). */
export const server = {
  protocol: setting(oneOf('http', 'https'), 'http', 'What the service speaks; https is TLS 1.2 or later.'),
  host: setting(listenHost, '0.0.0.0', 'Address to listen on.'),
  http_port: setting(integer(0, 65_535), 8080, 'Port for http; 0 takes any that is free.'),
  https_port: setting(integer(0, 65_535), 443, 'Port for https; 0 takes any that is free.'),
  cert_file: setting(path, none, 'File with the certificate chain (PEM), needed for https.'),
  cert_key: setting(path, none, 'File with the private key of the certificate (PEM), needed for https.'),
  public_url: setting(url, none, 'Base URL that browsers and clients use, path prefix included.'),
  trust_proxy: setting(
    proxies,
    false,
    'Proxies whose X-Forwarded-For, -Proto, -Host and -Prefix headers count: all, none, or these addresses.',
  ),
  allowed_hosts: setting(
    list(hostOrBelow),
    [],
    'Host names by which the service may be asked without a credential, where `authentication.required` is false or `exclude.management` true: `flags.example.com`, or `.example.com` for every name below. Addresses, names without a dot, localhost and that of server.public_url always may.',
  ),
  body_limit: setting(
    integer(1, 2 ** 31 - 1),
    4_194_304,
    'Largest request body in bytes; under /auth/v1 it is 65536 at most.',
  ),
  published_body_limit: setting(
    integer(1, 2 ** 31 - 1),
    262_144,
    'The same for tokens that may be published, whose only right is flag.evaluate; never more than body_limit.',
  ),
  max_response_bytes: setting(
    integer(65_536, 2 ** 30),
    33_554_432,
    'Largest answer of a batch or bulk in bytes; a page of a list ends before it is larger.',
  ),
  published_max_response_bytes: setting(
    integer(65_536, 2 ** 30),
    4_194_304,
    'The same for tokens that may be published, whose only right is flag.evaluate; never more than max_response_bytes.',
  ),
  headers_timeout: setting(duration, 5000, 'Time a client has to send the headers of a request.'),
  request_timeout: setting(duration, 10_000, 'Time a client has to send a whole request.'),
  shutdown_grace: setting(
    duration,
    10_000,
    'Time that the end of the service may take once it is asked to end; requests that run then are cut after four fifths of it.',
  ),
} as const

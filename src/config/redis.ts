import { connection } from './addresses.ts'
import { setting } from './setting.ts'
import { matching, oneOf, path, secret, text } from './types.ts'

const none = undefined

/** The settings of Redis. What fits together of them is for `adapters/redis/address.ts` to say, as all that concerns an address. */
export const redis = {
  url: setting(
    connection('redis', 'rediss'),
    none,
    'Connection URL of Redis, needed for cluster; rediss speaks TLS. Several hosts, with commas, are nodes of a Redis Cluster or Sentinels.',
  ),
  mode: setting(
    oneOf('single', 'cluster', 'sentinel'),
    'single',
    'What the hosts of the URL are: one server, nodes of a Redis Cluster, or Sentinels that know the server.',
  ),
  master: setting(text, none, 'Name under which the Sentinels watch the server, needed for sentinel.'),
  username: setting(text, none, 'User of Redis (ACL), where the URL names none.'),
  password: setting(secret, none, 'Password of Redis, where the URL has none.'),
  sentinel_username: setting(text, none, 'User of the Sentinels, where they want one.'),
  sentinel_password: setting(secret, none, 'Password of the Sentinels, where they want one.'),
  ca_file: setting(
    path,
    none,
    'File with the authority (PEM) that certificates of Redis are checked by; those of the system when not set.',
  ),
  cert_file: setting(
    path,
    none,
    'File with the certificate (PEM) that this service shows to Redis, where that wants one.',
  ),
  cert_key: setting(path, none, 'File with the private key of that certificate (PEM).'),
  prefix: setting(
    matching(/^[A-Za-z0-9_.:-]{1,64}$/, 'must be 1 to 64 letters, digits and _ . : -'),
    'rollcall',
    'What the keys in Redis begin with, in braces; deployments that share a Redis need one each.',
  ),
}

import { connection } from '../addresses.ts'
import { setting } from '../setting.ts'
import { matching, oneOf, path, secret, text } from '../types.ts'

const none = undefined

/** Settings of Redis. `adapters/redis/address.ts` checks that they are consistent. */
export const redis = {
  url: setting(
    connection('redis', 'rediss'),
    none,
    'Connection URL of Redis, required for cluster; rediss uses TLS. Several hosts, separated by commas, are nodes of a Redis Cluster or Sentinels.',
  ),
  mode: setting(
    oneOf('single', 'cluster', 'sentinel'),
    'single',
    'Kind of the hosts in the URL: one server, nodes of a Redis Cluster, or Sentinels of the server.',
  ),
  master: setting(text, none, 'Name of the server at the Sentinels; required for sentinel.'),
  username: setting(text, none, 'User of Redis (ACL), if the URL has none.'),
  password: setting(secret, none, 'Password of Redis, if the URL has none.'),
  sentinel_username: setting(text, none, 'User of the Sentinels, if they require one.'),
  sentinel_password: setting(secret, none, 'Password of the Sentinels, if they require one.'),
  ca_file: setting(path, none, 'File with the certificate authority (PEM) of Redis. Default: those of the system.'),
  cert_file: setting(path, none, 'File with the client certificate (PEM), if Redis requires one.'),
  cert_key: setting(path, none, 'File with the private key of that certificate (PEM).'),
  prefix: setting(
    matching(/^[A-Za-z0-9_.:-]{1,64}$/, 'must be 1 to 64 letters, digits and _ . : -'),
    'rollcall',
    'Prefix of the keys in Redis, put in braces; deployments that share a Redis need different ones.',
  ),
}

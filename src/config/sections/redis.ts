import { connection } from '../addresses.ts'
import { setting } from '../setting.ts'
import { matching, oneOf, path, secret, text } from '../types.ts'

const none = undefined

/** Settings of Redis. `adapters/redis/address.ts` checks that they are consistent. */
export const redis = {
  url: setting(
    connection('redis', 'rediss'),
    none,
    'Connection URL of Redis, required if storage.type is cluster. The scheme rediss uses TLS. A URL may list several hosts, separated by commas: the nodes of a Redis Cluster, or Sentinels.',
  ),
  mode: setting(
    oneOf('single', 'cluster', 'sentinel'),
    'single',
    'Kind of the hosts in redis.url: a single server, nodes of a Redis Cluster, or Sentinels that monitor the server.',
  ),
  master: setting(text, none, 'Name under which the Sentinels monitor the server; required if redis.mode is sentinel.'),
  username: setting(text, none, 'User of Redis (ACL), if redis.url contains no user.'),
  password: setting(secret, none, 'Password of Redis, if redis.url contains no password.'),
  sentinel_username: setting(text, none, 'User of the Sentinels, if they require one.'),
  sentinel_password: setting(secret, none, 'Password of the Sentinels, if they require one.'),
  ca_file: setting(
    path,
    none,
    'File with the certificate authority (PEM) of Redis. Default: the certificate authorities of the system.',
  ),
  cert_file: setting(path, none, 'File with the client certificate (PEM), if Redis requires one.'),
  cert_key: setting(path, none, 'File with the private key (PEM) of the client certificate for Redis.'),
  prefix: setting(
    matching(/^[A-Za-z0-9_.:-]{1,64}$/, 'must be 1 to 64 letters, digits and _ . : -'),
    'rollcall',
    'Prefix of the keys in Redis; the service writes it in braces. Deployments that share a Redis server need different prefixes.',
  ),
}

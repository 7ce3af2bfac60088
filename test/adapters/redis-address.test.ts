import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import t from 'tap'
import { addressOf, type RedisPlace, wrongWith } from '../../src/adapters/redis/address.ts'

const folder = t.testdir({ 'empty.pem': '' })
const [cert, key, empty] = [join(folder, 'cert.pem'), join(folder, 'key.pem'), join(folder, 'empty.pem')]
const pair = await generate([{ name: 'commonName', value: 'redis' }])
writeFileSync(cert, pair.cert)
writeFileSync(key, pair.private)
const missing = join(folder, 'missing.pem')

await t.test('invalid Redis settings are reported by key, without any part of the address', (t) => {
  const url = 'redis://r'
  const tls = 'rediss://r'
  const sentinel = { url: 'redis://a,b:1', mode: 'sentinel' } as const
  const cases: readonly (readonly [place: RedisPlace, setting: keyof RedisPlace, said: RegExp])[] = [
    [{ url: 'redis://canary@/' }, 'url', /has no host/],
    [{ url: 'redis://:canary@:6379' }, 'url', /has no host/],
    [{ url: 'redis://canary:canary@r/1/2' }, 'url', /not a number/],
    [{ url: 'redis://r:70000' }, 'url', /is invalid/],
    [{ url: 'redis://:can ary@r' }, 'url', /is invalid/],
    [{ url: 'redis://r#canary' }, 'url', /has options/],
    [{ url: 'redis://a,b/1', mode: 'cluster' }, 'url', /a Redis Cluster has only database 0/],
    [{ ...sentinel }, 'master', /is required/],
    [{ url, master: 'm' }, 'master', /is for redis\.mode sentinel/],
    [{ url, sentinel_password: 'canary' }, 'sentinel_password', /is for redis\.mode sentinel/],
    [{ url: 'redis://canary:x@r', username: 'canary' }, 'username', /is set twice/],
    [{ url: 'redis://:canary@r', password: 'canary' }, 'password', /is set twice/],
    [{ url, username: 'canary' }, 'username', /needs redis\.password/],
    [{ url, ca_file: cert }, 'ca_file', /does not begin with rediss/],
    [{ url: tls, ca_file: missing }, 'ca_file', /cannot be read \(ENOENT\)/],
    [{ url: tls, ca_file: empty }, 'ca_file', /contains no certificate/],
    [{ url: tls, cert_file: cert }, 'cert_file', /must be set together/],
    [{ url: tls, cert_file: key, cert_key: key }, 'cert_file', /not a certificate and its private key/],
  ]
  for (const [place, setting, said] of cases) {
    const wrong = wrongWith(place)
    t.match(wrong, [[setting, said]], JSON.stringify(place))
    t.equal(wrong.length, 1)
    t.notMatch(JSON.stringify(wrong), /canary/)
  }
  t.end()
})

await t.test('a valid Redis address is parsed into hosts and credentials', (t) => {
  const cases: readonly (readonly [place: RedisPlace, address: object])[] = [
    [{ url: 'redis://r' }, { mode: 'single', nodes: [{ host: 'r', port: 6379 }], credentials: {}, database: 0 }],
    [{ url: 'redis://[::1]:7/3' }, { nodes: [{ host: '::1', port: 7 }], database: 3 }],
    [{ url: 'redis://me:p%40ss%2F@r' }, { credentials: { username: 'me', password: 'p@ss/' } }],
    [{ url: 'redis://:a:b@r' }, { credentials: { password: 'a:b' } }],
    [{ url: 'redis://:a@b@r' }, { credentials: { password: 'a@b' } }],
    [
      { url: 'redis://r', username: 'me', password: 'p@ss/' },
      { credentials: { username: 'me', password: 'p@ss/' }, tls: undefined },
    ],
    [
      { url: 'redis://a,b:1,[::1]', mode: 'cluster' },
      {
        nodes: [
          { host: 'a', port: 6379 },
          { host: 'b', port: 1 },
          { host: '::1', port: 6379 },
        ],
      },
    ],
    [
      { url: 'redis://a/2', mode: 'sentinel', master: 'm', sentinel_username: 'u', sentinel_password: 'p' },
      {
        nodes: [{ host: 'a', port: 26_379 }],
        master: 'm',
        sentinel: { sentinelUsername: 'u', sentinelPassword: 'p' },
        database: 2,
      },
    ],
    [{ url: 'rediss://r' }, { tls: {} }],
    [{ url: 'rediss://r', ca_file: cert, cert_file: cert, cert_key: key }, { tls: { ca: Buffer, cert: Buffer } }],
  ]
  for (const [place, address] of cases) {
    t.same(wrongWith(place), [], place.url)
    t.match(addressOf(place), address)
  }
  t.end()
})

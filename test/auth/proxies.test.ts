import t from 'tap'
import {
  listed,
  plainHttp,
  proxyAuthorization,
  proxyFor,
  wrongWithPrivateHost,
  wrongWithProxy,
} from '../../src/auth/outgoing/hosts.ts'

/** Hosts that a list matches and does not match, like curl and Go. */
const LISTS: readonly [list: string, named: readonly string[], not: readonly string[]][] = [
  ['', [], ['https://example.com', 'https://10.0.0.1']],
  ['*', ['https://example.com', 'http://10.0.0.1:81', 'https://[fd00::1]'], []],
  [
    'example.com',
    ['https://example.com', 'https://EXAMPLE.com:8443', 'https://a.b.example.com', 'https://example.com.'],
    ['https://badexample.com', 'https://example.com.evil.test', 'https://com', 'https://example.co'],
  ],
  ['.example.com', ['https://example.com', 'https://a.example.com'], ['https://badexample.com']],
  ['*.example.com', ['https://a.example.com'], ['https://badexample.com']],
  ['Example.COM.', ['https://example.com'], ['https://example.org']],
  [
    '.svc',
    ['https://kubernetes.default.svc'],
    ['https://svc.example.com', 'https://kubernetes.default.svc.cluster.local'],
  ],
  [
    'example.com:8443',
    ['https://example.com:8443', 'https://a.example.com:8443'],
    ['https://example.com', 'http://example.com:8080'],
  ],
  ['example.com:443', ['https://example.com', 'https://example.com:443'], ['http://example.com']],
  ['example.com:80', ['http://example.com'], ['https://example.com']],
  [
    '10.0.0.1',
    ['https://10.0.0.1', 'http://10.0.0.1:81'],
    ['https://10.0.0.11', 'https://110.0.0.1', 'https://a.10.0.0.1.test'],
  ],
  ['10.0.0.1:8080', ['http://10.0.0.1:8080'], ['http://10.0.0.1']],
  ['10.0.0.0/8', ['https://10.255.1.2', 'https://10.0.0.1:6443'], ['https://11.0.0.1', 'https://ten.example.com']],
  ['192.168.4.0/23', ['https://192.168.5.255'], ['https://192.168.6.0']],
  ['0.0.0.0/0', ['https://8.8.8.8'], ['https://example.com', 'https://[fd00::1]']],
  ['fd00::/8', ['https://[fd12:3456::1]'], ['https://[fe80::1]', 'https://10.0.0.1']],
  ['::1', ['https://[::1]:8443'], ['https://[::2]']],
  ['[fd00::1]:8443', ['https://[fd00::1]:8443'], ['https://[fd00::1]']],
  ['[fd00::1]', ['https://[fd00::1]'], ['https://[fd00::2]']],
  ['10.0.0.0/33 , 300.1.1.1,,/8 [::1 ]', [], ['https://10.0.0.1', 'https://example.com', 'https://[::1]']],
  ['a.test, b.test', ['https://a.test', 'https://b.test'], ['https://c.test']],
]
const split = (list: string) => list.split(/[\s,]+/).filter(Boolean)

await t.test('the exceptions in NO_PROXY match as they do in curl and Go', async (t) => {
  for (const [list, named, not] of LISTS) {
    const isNamed = listed(split(list))
    for (const url of named) t.ok(isNamed(new URL(url)), `${list}: ${url}`)
    for (const url of not) t.notOk(isNamed(new URL(url)), `${list}: not ${url}`)
  }
})

await t.test('the proxy is chosen by protocol; loopback and excepted hosts are called without one', async (t) => {
  const proxyOf = proxyFor({
    https: 'http://secure.test:3128',
    http: 'plain.test:8080',
    except: ['corp.example', '10.0.0.0/8'],
  })
  const to = (url: string) => proxyOf(new URL(url))?.href
  t.equal(to('https://id.example.com'), 'http://secure.test:3128/')
  t.equal(to('http://id.example.com'), 'http://plain.test:8080/', 'a proxy without a scheme is one over http')
  for (const direct of ['https://id.corp.example', 'http://10.1.2.3', 'https://localhost', 'https://a.localhost:1'])
    t.equal(to(direct), undefined, direct)
  for (const loopback of ['https://127.0.0.1', 'http://127.9.9.9:81', 'https://[::1]:8443'])
    t.equal(to(loopback), undefined, loopback)
  t.equal(proxyFor({ http: 'http://plain.test', except: [] })(new URL('https://id.example.com')), undefined)
  t.equal(proxyFor({ except: [] })(new URL('https://id.example.com')), undefined)
})

await t.test('a configured proxy replaces the proxy of the environment and its exceptions', async (t) => {
  const given = { https: 'http://all.test:3128', except: ['*'] }
  for (const url of ['https://id.example.com', 'http://id.example.com', 'https://127.0.0.1'])
    t.equal(proxyFor({ ...given, own: 'https://own.test' })(new URL(url))?.href, 'https://own.test/', url)
  t.equal(proxyFor({ ...given, except: [], own: 'none' })(new URL('https://id.example.com')), undefined)
})

await t.test('the name and the password of a proxy are percent-decoded', async (t) => {
  const sent = (url: string) =>
    Buffer.from(
      String(proxyAuthorization(new URL(url))['proxy-authorization']).replace('Basic ', ''),
      'base64',
    ).toString()
  t.equal(sent('http://rollcall:p%40ss%3Aw%C3%B6rd@proxy.test'), 'rollcall:p@ss:wörd')
  t.equal(sent('http://rollcall@proxy.test'), 'rollcall:')
  t.strictSame(proxyAuthorization(new URL('http://proxy.test')), {})
})

await t.test('an invalid proxy address is refused, and the message does not repeat it', async (t) => {
  for (const good of [
    'http://proxy.test',
    'https://proxy.test:8443/',
    'proxy.test:3128',
    'proxy',
    '10.0.0.1:3128',
    'http://[fd00::1]:3128',
    'http://name:p%40ss@proxy.test:3128',
    'name:password@proxy.test:3128',
  ])
    t.equal(wrongWithProxy(good), undefined, good)
  for (const bad of [
    'socks5://canary.test',
    'ftp://canary.test',
    'http://',
    'http://canary.test:99999',
    'http://canary.test/path',
    'http://canary.test?q',
    'http://canary.test#f',
    'http://canary:100%@proxy.test',
    'http://canary:%ff@proxy.test',
    'http://canary:pass/word@proxy.test',
    'http:///canary',
    'http://\\canary',
    'http://cana ry.test',
    '/canary',
    'http://canary.test\n',
  ]) {
    t.match(wrongWithProxy(bad), /^must be an http or https proxy/, bad)
    t.notMatch(wrongWithProxy(bad), /canary/)
  }
})

await t.test('plain http is allowed for loopback addresses and for listed hosts', async (t) => {
  const mayBe = plainHttp(['10.0.0.0/8', '192.168.7.7', 'fd00:1::/32', 'Keycloak.test', '.corp.example'])
  const may = (host: string) => mayBe(new URL(`http://${host}/x`))
  for (const host of [
    'localhost',
    'a.localhost',
    '127.0.0.1',
    '[::1]',
    '10.9.9.9:8080',
    '192.168.7.7',
    '[fd00:1::5]',
    'keycloak.test',
    'KEYCLOAK.test.',
    'a.corp.example',
    'a.b.corp.example',
  ])
    t.ok(may(host), host)
  for (const host of [
    '11.0.0.1',
    '192.168.7.8',
    '[fd00:2::5]',
    'a.keycloak.test',
    'corp.example',
    'badcorp.example',
    'localhost.test',
    '127.0.0.1.test',
  ])
    t.notOk(may(host), host)
})

await t.test('the list of hosts for plain http accepts only private addresses and networks', async (t) => {
  for (const good of [
    '10.0.0.1',
    '10.0.0.0/8',
    '172.31.0.0/16',
    '192.168.0.0/16',
    'fd00::/8',
    'fc00::/7',
    '127.0.0.1',
    '::1',
  ])
    t.equal(wrongWithPrivateHost(good), undefined, good)
  for (const good of ['keycloak', 'id.corp.example', '.corp.example', 'svc-1.ns.svc'])
    t.equal(wrongWithPrivateHost(good), undefined, good)
  for (const bad of [
    '8.8.8.8',
    '0.0.0.0/0',
    '10.0.0.0/7',
    '172.32.0.0/16',
    '172.0.0.0/8',
    '::/0',
    '2001:db8::1',
    '::ffff:8.8.8.8',
  ])
    t.match(wrongWithPrivateHost(bad), /is not private/, bad)
  for (const bad of [
    '*',
    '*.corp.example',
    '10.0.0.0/33',
    '10.0.0',
    'http://id.test',
    'id.test:8080',
    'id.test/x',
    '',
    'a b',
  ])
    t.match(wrongWithPrivateHost(bad), /must be a host name/, bad)
})

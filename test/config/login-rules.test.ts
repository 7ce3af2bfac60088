import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { isConfigError, printProblem } from '../../src/config/problem.ts'

const base = { 'server.public_url': 'https://flags.example.com' }
const provider = 'authentication.methods.oidc.providers.main'
const whole = {
  ...base,
  'authentication.methods.oidc.enabled': 'true',
  [`${provider}.issuer_url`]: 'https://id.example.com',
  [`${provider}.client_id`]: 'a',
  [`${provider}.client_secret`]: 'b',
}

const problemsOf = (flags: Readonly<Record<string, string>>): string => {
  try {
    loadConfig({ env: {}, flags })
    return ''
  } catch (error) {
    if (!isConfigError(error)) throw error
    return error.problems.map(printProblem).join('\n')
  }
}

const rows: readonly (readonly [settings: Readonly<Record<string, string>>, problem: RegExp | ''])[] = [
  [{ 'authentication.session.domain': 'flags.example.com' }, ''],
  [{ 'authentication.session.domain': 'example.com' }, ''],
  [{ 'authentication.session.domain': 'Example.COM' }, ''],
  [{ 'authentication.session.domain': 'other.example' }, /session\.domain: must be the host of server\.public_url/],
  [{ 'authentication.session.domain': 'ample.com' }, /session\.domain: must be the host/],
  [{ 'authentication.session.domain': 'a.flags.example.com' }, /session\.domain: must be the host/],
  [{ 'authentication.session.domain': 'com' }, /session\.domain: must contain a dot/],
  ...['co.uk', '.co.uk', 'Co.UK', 'github.io', 'x.ck'].map(
    (domain) =>
      [
        { 'authentication.session.domain': domain },
        /session\.domain: is a public suffix, shared by unrelated/,
      ] as const,
  ),
  [{ 'server.public_url': 'https://flags.co.uk', 'authentication.session.domain': 'co.uk' }, /is a public suffix/],
  [{ 'server.public_url': 'https://a.flags.co.uk', 'authentication.session.domain': 'flags.co.uk' }, ''],
  [{ 'server.public_url': 'https://flags.corp.internal', 'authentication.session.domain': 'corp.internal' }, ''],
  [{ 'server.public_url': 'https://github.io', 'authentication.session.domain': 'github.io' }, ''],
  [{ 'authentication.session.domain': '10.0.0.1' }, /session\.domain: must be a domain name/],
  [{ 'server.public_url': 'http://10.0.0.1:8080', 'authentication.session.domain': '10.0.0.1' }, ''],
  [{ 'server.public_url': 'http://localhost:8080', 'authentication.session.domain': 'localhost' }, ''],
  [
    { 'server.public_url': 'http://flags.example.com', 'authentication.session.secure': 'true' },
    /session\.secure: is true, but server\.public_url is http/,
  ],
  [{ 'server.public_url': 'http://localhost:8080', 'authentication.session.secure': 'true' }, ''],
  [{ 'authentication.session.secure': 'true' }, ''],
  [{ [`${provider}.redirect_address`]: 'https://flags.example.com/base' }, ''],
  [{ [`${provider}.redirect_address`]: 'https://FLAGS.example.com:8443' }, ''],
  [{ [`${provider}.redirect_address`]: 'https://login.example.com' }, /redirect_address: must have the same host as/],
  [
    { [`${provider}.redirect_address`]: 'https://login.example.com', 'authentication.session.domain': 'example.com' },
    '',
  ],
  [
    { 'authentication.methods.codehost.redirect_address': 'https://elsewhere.example' },
    /codehost\.redirect_address: must have the same host/,
  ],
  [
    { [`${provider}.issuer_url`]: 'https://id.example.com/.well-known/openid-configuration' },
    /issuer_url: must be the issuer, without \/\.well-known/,
  ],
  ...[
    '.*@example\\.com',
    '\\w+@a\\.b',
    '.*',
    '\\S+',
    '(a|b)@c\\.d',
    '.+example\\.com',
    '@a|b@c\\.d',
    'a@b|c@',
    '^.*@.*$',
  ].map((pattern) => [{ 'authentication.methods.oidc.email_matches': pattern }, ''] as const),
  ...['example\\.com', '@example\\.com', '^@example\\.com$', 'ada', 'example.com', 'ada@', '.*@', '^ada@$'].map(
    (pattern) => [{ 'authentication.methods.oidc.email_matches': pattern }, /cannot match an e-mail address/] as const,
  ),
  [{ [`${provider}.client_id`]: 'a\nb' }, /client_id: must not contain control characters/],
  [{ [`${provider}.client_secret`]: 'canary\u0000' }, /client_secret: must not contain control characters/],
  [{ 'storage.data_dir': 'a\tb' }, /data_dir: must not contain control characters/],
  [{ 'eventstore.url': 'esdb://a:2113?tls=true&userCertFile=/c&userKeyFile=/k' }, ''],
  [{ 'eventstore.url': 'esdb://a:2113?userCertFile=/c' }, /eventstore\.url: has userCertFile without userKeyFile/],
  [{ 'eventstore.url': 'esdb://a:2113?tls=true&userkeyfile=/k' }, /has userKeyFile without userCertFile/],
  ...['esdb:/a:2113', 'esbd://a:2113', 'esdb+discovery://a', 'esdb//a', 'ESDB:a'].map(
    (url) => [{ 'eventstore.url': url }, /eventstore\.url: must begin with esdb:\/\//] as const,
  ),
]

await t.test('settings that cannot work together are reported with their requirement', (t) => {
  for (const [settings, problem] of rows) {
    const told = problemsOf({ ...whole, ...settings })
    const name = JSON.stringify(settings).replaceAll(/\\u0000/g, 'NUL')
    if (problem === '') t.equal(told, '', name)
    else t.match(told, problem, name)
    t.notMatch(told, /canary/)
  }
  t.end()
})

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { publicConfig, publicSettings } from '../../src/config/describe.ts'
import { loadConfig } from '../../src/config/load.ts'
import { isConfigError, type Problem } from '../../src/config/problem.ts'
import { authorityFile } from '../authority.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-reach-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const M = 'authentication.methods'
const P = `${M}.oidc.providers.main`
type Flags = Readonly<Record<string, string>>

const provider: Flags = {
  'server.public_url': 'https://flags.example.com',
  [`${M}.oidc.enabled`]: 'true',
  [`${P}.issuer_url`]: 'https://id.example.com',
  [`${P}.client_id`]: 'a',
  [`${P}.client_secret`]: 'b',
}
const codehost: Flags = {
  'server.public_url': 'https://flags.example.com',
  [`${M}.codehost.enabled`]: 'true',
  [`${M}.codehost.client_id`]: 'a',
  [`${M}.codehost.client_secret`]: 'b',
}
const cluster: Flags = { [`${M}.orchestrator.enabled`]: 'true', [`${M}.orchestrator.ca_path`]: authorityFile }
/** Remote services: valid settings, and the key of their own settings. */
const whom: Readonly<Record<string, readonly [flags: Flags, at: string]>> = {
  provider: [provider, P],
  'code host': [codehost, `${M}.codehost`],
  cluster: [cluster, `${M}.orchestrator`],
}

type Given = { readonly env?: Flags; readonly file?: object }
const load = (flags: Flags, { env = {}, file }: Given = {}) => {
  const path = join(folder, 'rollcall.json')
  if (file) writeFileSync(path, JSON.stringify(file))
  return loadConfig({ env, flags, ...(file && { file: path }) })
}
const problems = (flags: Flags, given: Given = {}): readonly Problem[] => {
  try {
    load(flags, given)
    return []
  } catch (error) {
    if (!isConfigError(error)) throw error
    return error.problems
  }
}
const keys = (flags: Flags, given: Given = {}) => problems(flags, given).map(({ key }) => key)

await t.test('the usual proxy variables are the default of the proxy settings', async (t) => {
  const told = (env: Flags, file?: object) => {
    const { config, sources } = load(provider, { env, ...(file && { file }) })
    const { https_proxy, http_proxy, no_proxy } = config.outgoing
    return [https_proxy, http_proxy, no_proxy, sources.get('outgoing.https_proxy')]
  }
  t.strictSame(told({}), [undefined, undefined, [], 'default'])
  const upper = {
    HTTPS_PROXY: 'http://a.test:1',
    HTTP_PROXY: 'http://b.test:2',
    NO_PROXY: '.svc, 10.0.0.0/8 a.test:81,',
  }
  t.strictSame(told(upper), ['http://a.test:1', 'http://b.test:2', ['.svc', '10.0.0.0/8', 'a.test:81'], 'HTTPS_PROXY'])
  const lower = { https_proxy: ' c.test:3 ', http_proxy: '', no_proxy: '*' }
  t.strictSame(told({ ...upper, ...lower }), ['c.test:3', 'http://b.test:2', ['*'], 'https_proxy'])
  t.match(told(upper, { outgoing: { https_proxy: 'http://d.test', no_proxy: ['x.test'] } }), [
    'http://d.test',
    'http://b.test:2',
    ['x.test'],
    /rollcall\.json/,
  ])
  t.match(told({ ...upper, ROLLCALL_OUTGOING_HTTPS_PROXY: 'http://e.test' }), [
    'http://e.test',
    'http://b.test:2',
    ['.svc', '10.0.0.0/8', 'a.test:81'],
    'ROLLCALL_OUTGOING_HTTPS_PROXY',
  ])
  t.strictSame(told({ HTTPS_PROXY: '  ' }), [undefined, undefined, [], 'default'])
})

await t.test('an invalid proxy variable is refused only if an enabled login method uses the proxy', async (t) => {
  for (const name of ['HTTPS_PROXY', 'http_proxy'])
    for (const wrong of ['socks5://name:hunter2@proxy.test', 'http://name:hunter2@', 'http://hunter2.test/x']) {
      const env = { [name]: wrong }
      t.strictSame(problems({}, { env }), [], 'nobody is asked')
      for (const [flags] of Object.values(whom)) {
        const [problem, ...more] = problems(flags, { env })
        t.match(problem, {
          key: `outgoing.${name.toLowerCase()}`,
          place: name,
          description: /must be an http or https proxy/,
        })
        t.strictSame(more, [])
        t.notMatch(problem, /hunter2/)
      }
    }
})

for (const [name, [flags, at]] of Object.entries(whom)) {
  await t.test(`the proxy of the ${name} is checked, and its password is never shown`, async (t) => {
    for (const good of [
      'none',
      'http://proxy.test:3128',
      'https://proxy.test',
      'http://name:hunter2@proxy.test:3128',
    ]) {
      const { config } = load({ ...flags, [`${at}.proxy`]: good })
      const shown = publicSettings(config).find(([key]) => key === `${at}.proxy`)
      t.strictSame(shown, good.includes('@') ? undefined : [`${at}.proxy`, good])
      t.notMatch(JSON.stringify(publicConfig(config)), /hunter2/)
    }
    for (const wrong of ['socks5://hunter2.test', 'http://name:hunter2%@proxy.test', '', 'http://hunter2.test/x']) {
      const found = problems({ ...flags, [`${at}.proxy`]: wrong })
      t.strictSame(
        found.map(({ key }) => key),
        [`${at}.proxy`],
        wrong,
      )
      t.notMatch(JSON.stringify(found), /hunter2/)
    }
    const { config } = load(flags, { env: { HTTPS_PROXY: 'http://name:hunter2@proxy.test' } })
    t.notMatch(JSON.stringify(publicConfig(config)), /hunter2/)
  })

  await t.test(`the CA file of the ${name} is read at the start, and problems name setting and cause`, async (t) => {
    const pem = readFileSync(authorityFile, 'utf8')
    const write = (file: string, content: string) => {
      writeFileSync(join(folder, file), content)
      return join(folder, file)
    }
    const told = (path: string) => problems({ ...flags, [`${at}.ca_path`]: path })
    const one = (path: string, cause: string) =>
      t.match(told(path), [{ key: `${at}.ca_path`, description: cause, place: 'command line' }], path)
    t.strictSame(told(authorityFile), [])
    t.strictSame(told(write('two.pem', `# first\n${pem}\n# second\n${pem}`)), [])
    const missing = join(folder, 'missing.pem')
    one(missing, `the file ${missing} cannot be read (ENOENT)`)
    const beneath = join(authorityFile, 'x')
    one(beneath, `the file ${beneath} cannot be read (ENOTDIR)`)
    one(write('empty.pem', ''), `the file ${folder}/empty.pem contains no certificate (PEM)`)
    one(write('text.pem', 'hello'), `the file ${folder}/text.pem contains no certificate (PEM)`)
    const broken = pem.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA')
    one(
      write('broken.pem', `${pem}\n${broken}`),
      `the file ${folder}/broken.pem contains an invalid certificate: number 2 of 2`,
    )
    one(
      write('cut.pem', `${pem.slice(0, -40)}\n${pem}`),
      `the file ${folder}/cut.pem contains an invalid certificate: number 1 of 2`,
    )
    one(folder, `the file ${folder} cannot be read (a directory)`)
    one('/dev/zero', 'the file /dev/zero cannot be read (a device)')
    t.match(told(pem), [{ key: `${at}.ca_path`, description: /^must not contain control characters/ }])
    const off = flags[`${M}.oidc.enabled`] ? `${M}.oidc.enabled` : `${at}.enabled`
    t.strictSame(problems({ ...flags, [off]: 'false', [`${at}.ca_path`]: missing }), [], 'where it is not asked')
  })
}

await t.test('plain http is allowed for loopback and for configured private hosts', async (t) => {
  const addresses: readonly (readonly [Flags, string])[] = [
    [provider, `${P}.issuer_url`],
    [provider, `${P}.discovery_url`],
    [codehost, `${M}.codehost.server_url`],
    [codehost, `${M}.codehost.api_url`],
    [cluster, `${M}.orchestrator.discovery_url`],
  ]
  for (const [flags, key] of addresses) {
    const told = (address: string, named = '') =>
      keys({ ...flags, [key]: address, ...(named && { 'outgoing.http_hosts': named }) })
    for (const good of ['https://id.test', 'http://localhost:9000', 'http://127.0.0.1', 'http://[::1]:8080'])
      t.strictSame(told(good), [], `${key} ${good}`)
    for (const [address, named] of [
      ['http://10.0.0.5:8080', '10.0.0.0/8'],
      ['http://keycloak.id.svc:8080', '.svc'],
      ['http://keycloak:8080', 'other.test, keycloak'],
      ['http://[fd00::7]', 'fd00::/8'],
    ] as const) {
      t.strictSame(told(address), [key], `${key} ${address}`)
      t.strictSame(told(address, named), [], `${key} ${address} ${named}`)
      t.strictSame(told(address, '192.168.0.0/16, elsewhere.test'), [key])
    }
  }
  for (const wrong of ['8.8.8.8', '0.0.0.0/0', 'http://id.test', 'id.test:8080', '*'])
    t.strictSame(keys({ 'outgoing.http_hosts': wrong }), ['outgoing.http_hosts[0]'], wrong)
})

await t.test('the discovery document can have its own address, also one with a query', async (t) => {
  const told = (address: string) => keys({ ...provider, [`${P}.discovery_url`]: address })
  for (const good of [
    'https://keycloak.svc/realms/x',
    'https://keycloak.svc/realms/x/',
    'https://keycloak.svc/.well-known/openid-configuration?appid=7',
  ])
    t.strictSame(told(good), [], good)
  for (const wrong of [
    'keycloak.svc',
    'ftp://keycloak.svc',
    'https://a:b@keycloak.svc',
    'https://keycloak.svc#x',
    'https://keycloak.svc?a b',
  ])
    t.strictSame(told(wrong), [`${P}.discovery_url`], wrong)
})

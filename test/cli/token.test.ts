import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openKeyFile } from '../../src/adapters/embedded/files/secret-file.ts'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { systemClock } from '../../src/base/clock.ts'
import { collect } from '../contracts/log.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { insideAt } from './inside.ts'
import { record, refusal, rollcall, rollcallProcess, standIn } from './service.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-cli-'))
const SECRET = 'hunter2-secret-token'

await t.test('token create prints only the token on standard output', async (t) => {
  const service = await standIn(() => ({
    body: { clientToken: 'minted-token', authentication: record('id-1', 'ci', { expiresAt: '2030-01-01T00:00:00Z' }) },
  }))
  t.teardown(service.close)
  const env = { ROLLCALL_ADDRESS: service.address, ROLLCALL_TOKEN: SECRET }
  const args = [
    'token',
    'create',
    'ci',
    '--description',
    'builds',
    '--namespace',
    'shop',
    '--metadata',
    'a=b=c',
    '--metadata',
    'd=',
    '--reason',
    'new runner',
  ]
  const { exit, out, err } = await rollcall(args, env)
  t.equal(exit, 0)
  t.equal(out, 'minted-token\n')
  t.match(err, /id-1/)
  const [seen] = service.seen
  t.match(seen, {
    method: 'POST',
    path: '/auth/v1/method/token',
    headers: { authorization: `Bearer ${SECRET}`, 'event-reason': 'new runner' },
  })
  const body = JSON.parse(seen!.body) as object
  t.match(body, { name: 'ci', description: 'builds', namespaceKey: 'shop', metadata: { a: 'b=c', d: '' } })
  await rollcall(['token', 'create', 'ci', '--expires', 'never'], env)
  t.notOk('expiresAt' in (JSON.parse(service.seen[1]!.body) as object), 'never must be said')
  const json = await rollcall(['token', 'create', 'ci', '-o', 'json'], env)
  t.match(JSON.parse(json.out), { clientToken: 'minted-token', authentication: { id: 'id-1' } })
  t.equal((await rollcall(['token', 'create', 'ci', '--field', 'clientToken'], env)).out, 'minted-token')

  const asked = service.seen.length
  const dry = await rollcall(['token', 'create', 'ci', '--dry-run'], env)
  t.match(JSON.parse(dry.out), { name: 'ci' })
  t.equal(service.seen.length, asked, 'a dry run asks nothing')
  for (const expires of ['soon', '0s', '2001-01-01T00:00:00Z', '-1h']) {
    t.equal((await rollcall(['token', 'create', 'ci', `--expires=${expires}`], env)).exit, 2, expires)
  }
})

await t.test('the durations of token create count from the present time', async (t) => {
  const service = await standIn(({ method }) => ({
    body:
      method === 'POST'
        ? { clientToken: 'minted-token', authentication: record('id-1') }
        : { flags: [], nextPageToken: '' },
  }))
  t.teardown(service.close)
  const clock = virtualClock('2026-03-01T12:00:00.000Z')
  const ran = (...args: readonly string[]) => insideAt(clock, { url: service.address, token: SECRET }, ...args)
  const last = () => service.seen.at(-1)!
  const expiry = async (...args: readonly string[]) => {
    t.equal((await ran('token', 'create', 'ci', ...args)).exit, 0)
    return (JSON.parse(last().body) as { readonly expiresAt?: string }).expiresAt
  }
  t.equal(await expiry(), '2026-03-31T12:00:00.000Z', 'thirty days when nothing is said')
  t.equal(await expiry('--expires', '90m'), '2026-03-01T13:30:00.000Z')
  t.equal(await expiry('--expires', '2026-03-01T12:00:00.001Z'), '2026-03-01T12:00:00.001Z')
  t.match(await ran('token', 'create', 'ci', '--expires', '2026-03-01T12:00:00Z'), { exit: 2, err: /in the future/ })
  t.equal((await ran('flag', 'list', '--at=-1h')).exit, 0)
  t.equal(last().query.get('at'), '2026-03-01T11:00:00.000Z')
})

await t.test('the command line never reads a token from its arguments', async (t) => {
  for (const args of [['--token', SECRET], [`--token=${SECRET}`]]) {
    const { exit, out, err } = await rollcall(['token', 'list', ...args])
    t.equal(exit, 2)
    t.match(err, /ROLLCALL_TOKEN/)
    t.notMatch(out + err, SECRET)
  }
})

await t.test('a token is read from a file, standard input, the environment or the home directory', async (t) => {
  const service = await standIn(() => ({ body: { authentications: [], nextPageToken: '', totalCount: 0 } }))
  t.teardown(service.close)
  const file = join(folder, 'token')
  writeFileSync(file, 'from-file\n', { mode: 0o600 })
  mkdirSync(join(folder, 'home/rollcall'), { recursive: true })
  writeFileSync(join(folder, 'home/rollcall/token'), 'from-home\n', { mode: 0o644 })
  const used = async (args: readonly string[], env: NodeJS.ProcessEnv, input = '', runs = rollcall) => {
    const ran = await runs(
      ['token', 'list', '--address', service.address, ...args],
      { XDG_CONFIG_HOME: join(folder, 'home'), ...env },
      input,
    )
    t.equal(ran.exit, 0, ran.err)
    return { ...ran, authorization: service.seen.at(-1)!.headers.authorization }
  }
  const all = { ROLLCALL_TOKEN: 'from-env', ROLLCALL_TOKEN_FILE: file }
  t.equal((await used(['--token-file', file], all)).authorization, 'Bearer from-file')
  for (const runs of [rollcall, rollcallProcess])
    t.equal((await used(['--token-file', '-'], all, 'from-stdin\n', runs)).authorization, 'Bearer from-stdin')
  t.equal((await used([], all)).authorization, 'Bearer from-env')
  t.equal((await used([], { ROLLCALL_TOKEN_FILE: file })).authorization, 'Bearer from-file')
  const home = await used([], {})
  t.equal(home.authorization, 'Bearer from-home')
  t.match(home.err, /chmod 600/, 'others can read it')
  t.equal((await used([], { XDG_CONFIG_HOME: folder })).authorization, undefined)
  mkdirSync(join(folder, '.config/rollcall'), { recursive: true })
  writeFileSync(join(folder, '.config/rollcall/token'), 'from-dot-config\n', { mode: 0o600 })
  t.equal((await used([], { XDG_CONFIG_HOME: '', HOME: folder })).authorization, 'Bearer from-dot-config')
  const bad = await rollcall(['token', 'list', '--address', service.address], {
    ROLLCALL_TOKEN: `${SECRET}\nX-Other: 1`,
  })
  t.equal(bad.exit, 2)
  t.notMatch(bad.err, SECRET)
})

const shop = Array.from({ length: 230 }, (_, n) => record(`id-${n}`, n === 0 ? 'evil\u001b[31m\u202e' : `name-${n}`))
const pages = (limit: number, token: string | null) => {
  const from = Number(token ?? 0)
  const next = from + limit
  return {
    authentications: shop.slice(from, next),
    nextPageToken: next < shop.length ? String(next) : '',
    totalCount: shop.length,
  }
}

await t.test('token list reports that there are more tokens than it counted', async (t) => {
  const [authentications, nextPageToken] = [shop.slice(0, 2), 'more']
  const service = await standIn(() => ({
    body: { authentications, nextPageToken, totalCount: 10_000, totalCountExact: false },
  }))
  t.teardown(service.close)
  const { err } = await rollcall(['token', 'list', '--address', service.address, '--limit', '2'])
  t.match(err, /2 of more than 10000 tokens shown; use --all/)
})

await t.test('token list prints one page, or every token with --all', async (t) => {
  const service = await standIn(({ query }) => ({ body: pages(Number(query.get('limit')), query.get('pageToken')) }))
  t.teardown(service.close)
  const list = (...args: readonly string[]) => rollcall(['token', 'list', '--address', service.address, ...args])

  const first = await list()
  t.equal(first.out.split('\n').length, 27, 'titles, 25 tokens, the end')
  t.match(first.out, /^ID +METHOD +NAME +NAMESPACE +STATUS +CREATED +EXPIRES\n/)
  t.match(first.out, /name-1 .*never/)
  t.notMatch(first.out.replaceAll('\n', ''), /[\p{Cc}\p{Cf}]/u, 'a name does not steer the terminal')
  t.match(first.err, /25 of 230 tokens shown; use --all/)
  t.equal((await list('-q')).err, '')

  const asked = service.seen.length
  const names = await list('--all', '-o', 'name')
  t.equal(names.out, shop.map(({ id }) => `${id}\n`).join(''))
  t.equal(names.err, '')
  t.equal(service.seen.length - asked, 3, 'a hundred at a time')
  t.equal((await list('--limit', '150', '-o', 'ndjson')).out.trim().split('\n').length, 150)
  t.match(JSON.parse((await list('-o', 'json', '--limit', '2')).out), {
    authentications: [{ id: 'id-0' }, { id: 'id-1' }],
    totalCount: 230,
  })
  t.notMatch((await list('--no-headers')).out, /METHOD +NAME/)
  t.equal((await list('--limit', '2', '--field', 'metadata.io.service.auth.token.name')).out.split('\n')[1], 'name-1')

  await list(
    '--status',
    'deleted',
    '--method',
    'METHOD_TOKEN',
    '--namespace',
    'shop',
    '--name',
    'ci',
    '--issued-by',
    'id-1',
    '--access',
    'granted',
  )
  t.strictSame(Object.fromEntries(service.seen.at(-1)!.query), {
    limit: '25',
    status: 'DELETED',
    method: 'METHOD_TOKEN',
    namespaceKey: 'shop',
    q: 'ci',
    issuedBy: 'id-1',
    access: 'GRANTED',
  })
  t.equal((await list('--limit', '0')).exit, 2)
  t.equal((await list('-o', 'xml')).exit, 2)
})

await t.test('token get prints one record, or one field of it', async (t) => {
  const service = await standIn(({ path }) =>
    path.endsWith('/id-1')
      ? { body: record('id-1') }
      : refusal(404, 5, 'not_found', 'authentication "x": resource not found'),
  )
  t.teardown(service.close)
  const get = (...args: readonly string[]) => rollcall(['token', 'get', '--address', `${service.address}/`, ...args])
  t.match((await get('id-1')).out, /NAME +ci\n/)
  t.equal((await get('id-1', '--field', 'status')).out, 'ACTIVE')
  t.equal((await get('id-1', '-o', 'name')).out, 'id-1\n')
  t.match(JSON.parse((await get('id-1', '-o', 'json')).out), record('id-1'))
  t.equal((await get('id-1', '--field', 'nothing')).exit, 4)
  const missing = await get('x')
  t.equal(missing.exit, 4)
  t.match(missing.err, /resource not found/)
  t.equal((await get('../method/token')).exit, 4, 'escaped, not followed')
  t.equal(service.seen.at(-1)!.path, '/auth/v1/tokens/..%2Fmethod%2Ftoken')
  for (const id of ['', '.', '..']) t.equal((await get(id)).exit, 2, `"${id}"`)
})

await t.test('token revoke asks for confirmation, continues after a failure and sends the reason', async (t) => {
  const service = await standIn(({ path, method }) => {
    const id = path.slice(path.lastIndexOf('/') + 1)
    if (id === 'bad') return refusal(403, 7, 'token_scoped', 'permission denied')
    return method === 'GET' ? { body: record(id, 'evil\u001b[31m') } : {}
  })
  t.teardown(service.close)
  const revoke = (...args: readonly string[]) => rollcall(['token', 'revoke', '--address', service.address, ...args])
  const writes = () => service.seen.filter(({ method }) => method !== 'GET')
  const one = await revoke('a', '--reason', 'left the company', '--yes')
  t.match([one.exit, one.out], [0, 'a revoked\n'])
  t.match(writes(), [{ method: 'DELETE', path: '/auth/v1/tokens/a', headers: { 'event-reason': 'left the company' } }])

  for (const ids of [['a'], ['a', 'b']]) {
    const unsure = await revoke(...ids)
    t.equal(unsure.exit, 2)
    t.match(unsure.err, /--yes/)
    t.notOk(unsure.err.includes('\u001b'), 'a name does not steer the terminal')
  }
  const dry = await revoke('a', 'b', '--dry-run')
  t.match([dry.exit, dry.err], [0, /a would be revoked\nb would be revoked/])
  t.equal((await revoke('a', '--reason', 'line\nbreak')).exit, 2)
  t.equal((await revoke('a', '..', '--yes')).exit, 2, 'one that cannot be stops all')
  t.equal(writes().length, 1, 'nothing more was written')

  const mixed = await revoke('a', 'bad', 'b', 'a', '--yes')
  t.equal(mixed.exit, 1)
  t.equal(mixed.out, 'a revoked\nb revoked\n')
  t.match(mixed.err, /bad not revoked: .*permission denied/)
  t.equal((await revoke('bad', '--yes')).exit, 5)
})

await t.test('token revoke asks at a terminal and continues after a yes', async (t) => {
  const service = await standIn(({ method }) => (method === 'GET' ? { body: record('a') } : {}))
  t.teardown(service.close)
  const answered = (answer: string) =>
    rollcall(['token', 'revoke', 'a', '--address', service.address], {}, `${answer}\n`, { interactive: true })
  for (const answer of ['', 'n', 'yess'])
    t.match(await answered(answer), { exit: 1, out: '', err: /Revoke "ci" \(a\)\? \[y\/N\] .*Nothing is changed/s })
  t.equal(service.seen.filter(({ method }) => method === 'DELETE').length, 0)
  for (const answer of ['y', ' Yes ']) t.match(await answered(answer), { exit: 0, out: 'a revoked\n' })
  t.equal(service.seen.filter(({ method }) => method === 'DELETE').length, 2)
})

await t.test('token revoke reports unknown tokens and tokens that have already ended', async (t) => {
  const service = await startService(t)
  const create = async () =>
    (await service.request<{ authentication: { id: string } }>('POST', '/auth/v1/method/token', { name: 'ci' })).json
      .authentication.id
  const id = await create()
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const revoke = (...ids: readonly string[]) => rollcall(['token', 'revoke', ...ids, '--yes'], env)
  t.match(await revoke('nope'), {
    exit: 4,
    out: '',
    err: /nope not revoked: .*authentication "nope": resource not found/,
  })
  t.match(await revoke(id), { exit: 0, out: `${id} revoked\n`, err: '' })
  t.match(await revoke(id), {
    exit: 0,
    out: '',
    err: new RegExp(`^token ${id} already ended at 20\\S+Z: nothing to do\\n$`),
  })
  const other = await create()
  t.match(await revoke('nope', other, id), {
    exit: 1,
    out: `${other} revoked\n`,
    err: /nope not revoked[^]*already ended/,
  })
})

await t.test('if all tokens are lost, a new one is created on the data of a stopped service', async (t) => {
  // This test requires a data directory, whatever storage the suites use.
  const embedded = { 'storage.type': 'embedded' }
  const service = await startService(t, embedded)
  const data = join(service.directory, 'data')
  const create = (name: string, ...more: readonly string[]) =>
    rollcall(['token', 'create', name, '--data', data, '--expires', '1h', '--reason', 'locked out', ...more])
  t.match(await create('early'), { exit: 1, out: '', err: /is in use by process/ })
  await service.close()
  t.match(await create('bound', '--namespace', 'none'), { exit: 4, out: '', err: /namespace "none" not found/ })
  const bound = await create('bound', '--namespace', 'default', '--metadata', 'team=blue')
  t.match(bound, { exit: 0, out: /^rct_\w+\n$/, err: /^ID +\S+.*The token, shown only once:\n$/s })
  t.match(await create('boss', '--role', 'boss'), { exit: 1, out: '', err: /unknown role "boss"/ })
  t.match(await create('nowhere', '--grant', 'editor@none'), { exit: 4, err: /namespace "none" not found/ })
  const granted = await create('granted', '--grant', 'editor@default', '--rights', 'token.create@*')
  t.match(granted, { exit: 0, out: /^rct_\w+\n$/ })
  const client = await create('client', '--role', 'client', '--namespace', 'default')
  t.match(client, { exit: 0, out: /^rcp_\w+\n$/ })
  const all = await create('all', '-o', 'json')
  t.equal(all.exit, 0, all.err)
  const issued = JSON.parse(all.out) as { clientToken: string; authentication: { id: string } }
  t.match(await rollcall(['token', 'create', 'x', '--data', join(data, 'none'), '--reason', 'x']), {
    exit: 4,
    err: /There is no .*none/,
  })

  const { kek } = await openKeyFile(join(data, 'keys'))
  const store = await openEmbedded(data, { clock: systemClock, kek, onError: () => {} })
  const [event] = await collect(store.log.read(`token-${issued.authentication.id}`))
  await store.close()
  t.match(JSON.parse(event!.meta), {
    actor: { kind: 'operator', user: userInfo().username, host: hostname() },
    instance: 'command-line',
    reason: 'locked out',
  })

  const again = await startService(t, embedded, { directory: service.directory })
  const as = (token: string, path: string) =>
    again.request<Readonly<Record<string, unknown>>>('GET', path, undefined, { authorization: `Bearer ${token}` })
  const self = await as(issued.clientToken, '/auth/v1/self')
  t.match(self.json, { id: issued.authentication.id, metadata: { 'io.service.auth.token.name': 'all' } })
  t.equal((await as(issued.clientToken, '/api/v1/namespaces')).status, 200)
  t.equal((await as(bound.out.trim(), '/api/v1/namespaces/default/flags')).status, 200)
  t.equal((await as(bound.out.trim(), '/api/v1/namespaces')).status, 403, 'it reaches its namespace alone')
  t.match((await as(granted.out.trim(), '/auth/v1/access')).json, {
    full: false,
    grants: [
      { namespaceKey: 'default', role: 'editor' },
      { namespaceKey: '*', rights: ['token.create'] },
    ],
  })
  t.match((await as(client.out.trim(), '/auth/v1/access')).json, { publishable: true, namespaceKey: 'default' })
})

await t.test('a write without a required reason names the option --reason, and succeeds with it', async (t) => {
  const service = await startService(t, { 'authorization.require_reason': '*' })
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const flags = 'flags: [{key: f, name: F, type: BOOLEAN_FLAG_TYPE}]\n'
  const made = await rollcall(['token', 'create', 'ci', '--reason', 'r', '-o', 'json'], env)
  const { id } = (JSON.parse(made.out) as { readonly authentication: { readonly id: string } }).authentication
  for (const args of [
    ['token', 'create', 'other'],
    ['token', 'revoke', id, '--yes'],
    ['import', '--stdin', '--yes'],
    ['flag', 'delete', 'f', '--yes'],
  ]) {
    const name = args.join(' ')
    const without = await rollcall(args, env, flags)
    t.match(without, { exit: 2, err: /reason is required[^]*Give the reason of the change: --reason TEXT/ }, name)
    t.match(await rollcall([...args, '--reason', 'launch'], env, flags), { exit: 0 }, name)
  }
})

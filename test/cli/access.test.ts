import t from 'tap'
import type { Access, AccessChecked } from '../../src/contract/access.ts'
import { bearer } from '../http/people.ts'
import { startService } from '../start.ts'
import { record, refusal, rollcall, standIn } from './service.ts'

type Issued = { readonly clientToken: string; readonly authentication: { readonly id: string } }

await t.test('token create requests the given roles and rights, and the token has them', async (t) => {
  const service = await startService(t)
  await service.request('POST', '/api/v1/namespaces', { key: 'shop', name: 'shop' })
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const made = async (...args: readonly string[]) => {
    const { exit, out, err } = await rollcall(['token', 'create', 'ci', ...args], env)
    t.equal(exit, 0, err)
    return (await service.request<Access>('GET', '/auth/v1/access', undefined, bearer(out.trim()))).json
  }
  t.match(await made('--role', 'server'), { places: [{ namespaceKey: '*', rights: { length: 3 } }] })
  t.match(await made('--role', 'client', '--namespace', 'shop'), { publishable: true, namespaceKey: 'shop' })
  const several = await made('--grant', 'editor@shop', '--grant', 'client@*', '--rights', 'flag.update,flag.read@shop')
  t.match(several.grants, [
    { namespaceKey: 'shop', role: 'editor' },
    { namespaceKey: '*', role: 'client' },
    { namespaceKey: 'shop', rights: ['flag.read', 'flag.update'] },
  ])
  t.match(await made(), { full: true }, 'without any as ever')

  for (const [args, words] of [
    [['--grant', 'editor'], /ROLE@PLACE/],
    [['--grant', 'editor@'], /has no namespace after @/],
    [['--rights', 'flag.fly@shop'], /unknown right "flag.fly"/],
    [['--grant', 'editor@shop', '--role', 'viewer'], /cannot be combined with --role/],
    [['--grant', 'editor@shop', '--namespace', 'shop'], /cannot be combined with --namespace/],
  ] as const) {
    const { exit, out, err } = await rollcall(['token', 'create', 'ci', ...args], env)
    t.equal(exit, 2, args.join(' '))
    t.match(err, words)
    t.equal(out, '')
  }
  const unknown = await rollcall(['token', 'create', 'ci', '--role', 'boss'], env)
  t.match([unknown.exit, unknown.err], [1, /unknown role "boss"/])
  const viewer = await rollcall(['token', 'create', 'viewer', '--grant', 'viewer@*', '--rights', 'token.create@*'], env)
  const beyond = await rollcall(['token', 'create', 'x', '--role', 'editor'], {
    ...env,
    ROLLCALL_TOKEN: viewer.out.trim(),
  })
  t.equal(beyond.exit, 5)
  t.match(beyond.err, /grant exceeds your own: flag.create in every namespace\n.*rollcall whoami/)
})

await t.test('a token that an older service issued with too many rights is revoked and not printed', async (t) => {
  for (const ends of ['DELETE', 'PUT']) {
    const service = await standIn(({ method }) => {
      if (method === 'POST') return { body: { clientToken: 'too-much', authentication: record('id-1') } }
      return method === ends ? {} : refusal(403, 7, 'token_scoped', 'permission denied')
    })
    t.teardown(service.close)
    const env = { ROLLCALL_ADDRESS: service.address, ROLLCALL_TOKEN: 'mine' }
    const { exit, out, err } = await rollcall(['token', 'create', 'ci', '--role', 'server'], env)
    t.equal(exit, 1)
    t.notMatch(out + err, 'too-much')
    t.match(err, /the command has revoked the token.*Requested: server@\*; issued: no grants/)
    const last = service.seen.at(-1)!
    t.match(
      [last.method, last.path, last.headers.authorization],
      ends === 'DELETE'
        ? ['DELETE', '/auth/v1/tokens/id-1', 'Bearer mine']
        : ['PUT', '/auth/v1/self/expire', 'Bearer too-much'],
    )
  }
})

await t.test('the commands can-i, whoami and access print rights and their reasons', async (t) => {
  const service = await startService(t)
  await service.request('POST', '/api/v1/namespaces', { key: 'shop', name: 'shop' })
  const create = (body: object) => service.request<Issued>('POST', '/auth/v1/method/token', { name: 'n', ...body })
  const viewer = await create({ name: '=viewer', role: 'viewer' })
  const editor = await create({ name: 'editor', grants: [{ role: 'editor', namespaceKey: 'shop' }] })
  const { json: of } = viewer
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const asViewer = { ...env, ROLLCALL_TOKEN: of.clientToken }
  const canI = (args: readonly string[], as = asViewer) => rollcall(['can-i', ...args], as)

  const may = await canI(['flag.read', '-n', 'shop'])
  t.equal(may.exit, 0)
  t.match(may.out, /ALLOWED +yes\nWHY +granted by viewer@\*\n/)
  const mayNot = await canI(['flag.update', '-n', 'shop', '-o', 'json'])
  t.equal(mayNot.exit, 3)
  t.match(JSON.parse(mayNot.out) as AccessChecked, { allowed: false, reason: 'not_granted', namespaceKey: 'shop' })
  t.match(await canI(['flag.update', '-o', 'name']), { exit: 3, out: 'no\n' })
  t.match(await canI(['flag.update'], env), { exit: 0, out: /the token has full access/ })
  t.match(await canI(['flag.read', '--token-id', of.authentication.id], env), { exit: 0, out: /viewer@\*/ })
  const before = String(Number(viewer.headers['event-position']) - 1)
  const then = await canI(['flag.read', '--token-id', of.authentication.id, '--at', before], env)
  t.match(then, { exit: 3, out: /no token has this id/ })
  t.match(await canI(['flag.fly']), { exit: 1, err: /unknown right "flag.fly"/ })

  const me = await rollcall(['whoami'], asViewer)
  t.equal(me.exit, 0)
  t.match(me.out, /^NAMESPACE +RIGHTS\n\* +flag.evaluate flag.snapshot flag.read /)
  t.equal(
    me.err,
    `Token ${of.authentication.id}\nName: =viewer\nMethod: static token\nAccess: viewer@*\nIt never expires.\n`,
  )
  t.equal((await rollcall(['whoami', '-q'], asViewer)).err, '')
  const { json: bound } = await create({ name: 'bound', namespaceKey: 'shop' })
  t.match(
    (await rollcall(['whoami'], { ...env, ROLLCALL_TOKEN: bound.clientToken })).err,
    'Name: bound\nMethod: static token\nAccess: full access to namespace shop, but no rights outside of it\n',
  )
  const { json: page } = await create({ name: 'page', role: 'client', namespaceKey: 'shop' })
  const published = await rollcall(['whoami'], { ...env, ROLLCALL_TOKEN: page.clientToken })
  t.notMatch(published.err, /Name:/, 'a published token does not show its record')

  const who = async (...args: readonly string[]) => rollcall(['access', ...args], env)
  const update = await who('flag.update', '-n', 'shop')
  t.equal(update.exit, 0, update.err)
  t.match(update.out, /initial_bootstrap_token +the token has full access/)
  t.match(update.out, /editor +granted by editor@shop/)
  t.notMatch(update.out, '=viewer')
  t.notMatch((await who('flag.update')).out, 'editor@shop', 'in every namespace')
  const csv = await who('flag.read', '-o', 'csv')
  t.match(csv.out, /^RIGHT,ID,METHOD,NAME,WHY,GRANT,RULE\r\n/)
  t.match(csv.out, /,'=viewer,granted by viewer@\*,viewer@\*,\r\n/, 'no formula for a spreadsheet')
  t.equal((await who('flag.update', '-n', 'shop', '--at', before, '-o', 'name')).out.trim().split('\n').length, 1)
  const all = await who('-o', 'ndjson', '-n', 'shop')
  const rights = new Set(
    all.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { right: string }).right),
  )
  t.ok(rights.has('audit.read') && rights.has('flag.update'), 'each right in turn')
  t.equal((await rollcall(['access', 'flag.read'], asViewer)).exit, 5)
  t.match(editor.json.authentication, { id: /./ })
})

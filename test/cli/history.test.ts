import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { everyWay, type Issued, logIn, OIDC } from '../http/people.ts'
import { startService } from '../start.ts'
import { rollcall, standIn } from './service.ts'

const N = '/api/v1/namespaces/default'

await t.test('the commands events, state and diff read the history', async (t) => {
  const service = await startService(t)
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const cli = (...args: readonly string[]) => rollcall([...args], env)
  const created = await service.request('POST', `${N}/flags`, { key: 'f', name: 'F', type: 'BOOLEAN_FLAG_TYPE' })
  const changed = await service.request('PUT', `${N}/flags/f`, { name: 'F', enabled: true }, { 'event-reason': 'go' })
  const [a, b] = [created, changed].map(({ headers }) => String(headers['event-position'])) as [string, string]

  const table = await cli('events', 'list', '--namespace', 'default', '--flag', 'f')
  t.equal(table.exit, 0, table.err)
  t.match(
    table.out,
    /TIME +ACTOR +SUMMARY +POSITION\n.*initial_bootstrap_token +flag default\/f created.* #\d+\n.*flag default\/f switched on +#\d+\n/,
  )
  t.equal(
    (await cli('events', 'list', '--type', 'FlagUpdated', '--field', 'summary')).out,
    'flag default/f switched on\n',
  )
  const where = await cli(
    'events',
    'list',
    '--where',
    'type:Flag* outcome:success',
    '--order',
    'desc',
    '--limit',
    '1',
    '-o',
    'name',
  )
  t.equal(where.out, `#${b}\n`)
  t.match(where.err, /1 event shown; use --all/)
  const all = await cli('events', 'list', '--all', '-o', 'ndjson')
  const lines = all.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly index: number; readonly time: string })
  t.strictSame(
    lines.map(({ index }) => index),
    lines.map((_, index) => index),
  )

  for (const moment of [b, `#${b}`, `@${lines.length - 1}`, lines.at(-1)!.time])
    t.equal((await cli('events', 'show', moment, '--field', 'reason')).out, 'go', moment)
  t.match((await cli('events', 'show', '@0')).out, /SUMMARY +\S/)
  t.equal((await cli('events', 'show', '#99999')).exit, 4)
  t.equal((await cli('events', 'show', '@99999')).exit, 4)
  t.equal((await cli('events', 'show', 'soon')).exit, 2)
  t.equal((await cli('events', 'list', '--where', 'colour:red')).exit, 2)
  t.match(await cli('events', 'list', '--category', 'flags'), { exit: 1, err: /unknown value "flags"/ })

  t.equal((await cli('state', 'flag/default+f', '--at', a, '--field', 'state.enabled')).out, 'false')
  t.match((await cli('state', 'flag/default+f')).out, /LAST EVENT +FlagUpdated/)
  t.equal((await cli('state', 'flag/default+none')).exit, 4)
  t.equal((await cli('state', 'flag')).exit, 2)

  const different = await cli('diff', a, b, '-n', 'default')
  t.equal(different.exit, 3, different.err)
  t.match(different.out, /flag-default\+f +changed +\/enabled: false -> true\n/)
  t.match(await cli('diff', b, '--stream', 'flag-default+f'), { exit: 0 })
  t.equal((await cli('diff', a, '--stream', 'flag-default+f', '-o', 'name')).out, 'flag-default+f\n')
  t.equal((await cli('diff', a)).exit, 2)

  await service.request('POST', `${N}/segments`, { key: 's', name: 'S' })
  const list = { type: 'NUMBER_COMPARISON_TYPE', property: 'n', operator: 'isoneof' }
  const { json } = await service.request<{ id: string }>('POST', `${N}/segments/s/constraints`, {
    ...list,
    value: '[1, 2, 9007199254740993]',
  })
  const { headers } = await service.request('PUT', `${N}/segments/s/constraints/${json.id}`, {
    ...list,
    value: '[9007199254740993, 2, 3]',
  })
  const before = `#${Number(headers['event-position']) - 1}`
  t.match((await cli('diff', before, '--stream', 'segment-default+s')).out, /value: -"1" \+"3" \(2 unchanged\)\n/)
})

await t.test('token find looks up the text of a token without sending it', async (t) => {
  const service = await startService(t)
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const made = await service.request<Issued>('POST', '/auth/v1/method/token', { name: 'ci' })
  const { id } = made.json.authentication
  const find = (input: string, ...more: readonly string[]) =>
    rollcall(['token', 'find', '--token-file', '-', ...more], env, input)
  t.match(await find(`${made.json.clientToken}\n`), {
    exit: 0,
    out: new RegExp(`^FIELD +VALUE\nID +${id}\n[^]*NAME +ci\n[^]*EVENTS +1\n$`),
  })
  await service.request('DELETE', `/auth/v1/tokens/${id}`)
  const json = await find(made.json.clientToken, '-o', 'json')
  t.match(JSON.parse(json.out), { authentication: { id, status: 'DELETED' }, events: 2 })
  t.match(await find('a-token-of-nobody'), { exit: 4, out: '', err: /has never issued the token/ })
  t.match(await rollcall(['token', 'find'], env), { exit: 2, err: /--token-file PATH/ })
  const old = await standIn(() => ({ body: { found: false, notSearchable: 3 } }))
  t.teardown(old.close)
  const { exit, err } = await rollcall(['token', 'find', '--token-file', '-'], { ROLLCALL_ADDRESS: old.address }, 'x')
  t.match([exit, err], [4, /cannot search 3 of its tokens/])
  t.strictSame(
    old.seen.map(({ body }) => body),
    [JSON.stringify({ sha256: createHash('sha256').update('x').digest('hex') })],
    'only the hash is sent',
  )
})

await t.test('the command "sessions find" looks up the live sessions of a person', async (t) => {
  const { service, liar } = await everyWay(t)
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  liar.lies = { claims: { sub: 'ada', email: 'Ada@example.com', preferred_username: 'ada' } }
  const { id } = (await logIn(service, OIDC)).authentication
  const find = (person: string, more: readonly string[] = [], input = '') =>
    rollcall(['sessions', 'find', person, ...more], env, input)
  t.match(await find('ada@EXAMPLE.com'), { exit: 0, out: new RegExp(`^ID +METHOD[^]*\n${id} +OIDC`) })
  t.match(await find('-', ['-o', 'name'], ' ada\n'), { exit: 0, out: `${id}\n` })
  t.match(await find('bob'), { exit: 4, out: '', err: /No session of this person is among the 1 live sessions/ })
  t.match(await find('-'), { exit: 2, err: /or - for standard input/ })
  const paged = await standIn(({ body }) => ({
    body: { authentications: [], examined: 10_000, nextPageToken: body.includes('next') ? '' : 'next' },
  }))
  t.teardown(paged.close)
  const { err } = await rollcall(['sessions', 'find', 'ada'], { ROLLCALL_ADDRESS: paged.address, ROLLCALL_TOKEN: 'x' })
  t.match(err, /among the 20000 live sessions/)
  t.ok(paged.seen.every(({ path, query }) => path.endsWith('/sessions/find') && query.size === 0))
})

await t.test('the command "subjects find" looks up a person', async (t) => {
  const { service } = await everyWay(t)
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  await logIn(service, OIDC)
  const find = (identity: string, ...more: readonly string[]) =>
    rollcall(['subjects', 'find', '--method', 'METHOD_OIDC', '--identity', identity, ...more], env)
  t.match(await find('alice'), { exit: 0, out: /SUBJECT +STATUS +TOKENS .*\nperson-\S{22} +open +1 +2 +2/ })
  t.match((await find('alice', '--provider', 'main', '-o', 'name')).out, /^person-.*\n$/)
  t.match(await find('nobody'), { exit: 4, out: '', err: /no login of this person/ })
})

await t.test('the commands "subjects erase" and "subjects list" erase a person and list the erasures', async (t) => {
  const { service } = await everyWay(t)
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  await logIn(service, OIDC)
  const subjects = (...args: readonly string[]) => rollcall(['subjects', ...args], env)
  const person = (await subjects('find', '--method', 'METHOD_OIDC', '--identity', 'alice', '-o', 'name')).out.trim()
  t.match(await subjects('list', '--erased', '-o', 'ndjson'), { exit: 0, out: '' })
  t.match(await subjects('list'), { exit: 2, err: /--erased/ })
  t.match(await subjects('erase', person, '--yes'), { exit: 2, err: /--reason TEXT/ })
  t.match(await subjects('erase', person, '--reason', 'r'), { exit: 2, err: /Confirm with --yes/ })
  t.match(await subjects('erase', '--reason', 'r', '--yes'), { exit: 2, err: /either one subject or a list/ })
  const nobody = `person-${'x'.repeat(22)}`
  t.match(await subjects('erase', nobody, '--reason', 'r', '--yes'), { exit: 4, err: /has no subject person-x/ })
  const erased = await subjects('erase', person, '--reason', 'request of the person', '--yes')
  t.match(erased, { exit: 0, out: new RegExp(`^SUBJECT.*\n${person} +1 +network-\\S+ +#\\d+\n$`) })
  t.match(erased.err, /To erase them too, erase, from [^:]*: network-[^]*destroy these copies: subjects\.sqlite/)
  t.match(await subjects('list', '--erased', '-o', 'name'), { exit: 0, out: `${person}\n` })
  const file = join(service.directory, 'erased')
  for (const form of ['name', 'json', 'ndjson']) {
    writeFileSync(file, (await subjects('list', '--erased', '-o', form)).out)
    const again = await subjects('erase', '--from', file, '--yes', '-o', 'name')
    t.match(again, { exit: 0, out: `${person}\n` }, form)
  }
  writeFileSync(file, `${person}\n\n${nobody}\n`)
  t.match(await subjects('erase', '--from', file, '--yes', '-o', 'name'), {
    exit: 0,
    out: `${person}\n`,
    err: /1 of 2 subjects are not in this history/,
  })
  for (const wrong of ['', 'x\n', '{"a":1}\n', '{\n'])
    t.match(await rollcall(['subjects', 'erase', '--from', '-', '--yes'], env, wrong), { exit: 2 }, wrong)
  t.match(await subjects('erase', '--from', join(service.directory, 'none'), '--yes'), { exit: 4 })
})

await t.test('events stats counts by property', async (t) => {
  const service = await startService(t)
  const env = { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  await service.request('POST', `${N}/flags`, { key: 'f', name: 'F', type: 'BOOLEAN_FLAG_TYPE' })
  const byNamespace = await rollcall(['events', 'stats', '--by', 'namespaceKey'], env)
  t.match(byNamespace, { exit: 0, out: /NAMESPACEKEY +TOKENS ISSUED +FLAG CHANGES/ })
  t.match(byNamespace.out, /\ndefault +\d+ +1\b/)
  const csv = (await rollcall(['events', 'stats', '--bucket', 'day', '-o', 'csv', '--from', '-1d'], env)).out
  t.match(csv, /^START,TOKENS ISSUED,.*HISTORY READS\r\n\d{4}-\d\d-\d\dT00:00:00\.000Z,1,/)
})

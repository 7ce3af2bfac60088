import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { documentTree, yamlText } from '../../src/cli/document/tree.ts'
import { type Started, startService } from '../start.ts'
import { contents } from './documents.ts'
import { exported, file, inside } from './inside.ts'

const N = '/api/v1/namespaces'
const keysOf = async (service: Started, list: 'flags' | 'segments', namespace: string) => {
  const { json } = await service.request<Record<string, readonly { key: string }[]>>('GET', `${N}/${namespace}/${list}`)
  return (json[list] ?? []).map(({ key }) => key)
}
const positionOf = async (service: Started): Promise<string> => {
  const { json } = await service.request<{ events: readonly { position: string }[] }>(
    'GET',
    '/audit/v1/events?limit=1&order=desc',
  )
  return json.events[0]!.position
}

type Grant = { readonly namespaceKey: string; readonly role?: string; readonly rights?: readonly string[] }
const tokenWith = async (service: Started, ...grants: readonly Grant[]) => {
  const { json } = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', {
    name: 'limited',
    grants,
  })
  return { url: service.url, token: json.clientToken }
}
type Holder = Awaited<ReturnType<typeof tokenWith>>

/** Runs an import as a dry run and then in earnest. Both must end with the exit code, and nothing may be written. */
const refusedWith = async (
  t: Tap,
  [service, holder]: readonly [Started, Holder],
  [exit, why]: readonly [number, RegExp],
  ...args: readonly string[]
): Promise<void> => {
  const before = [await exported(service, '--all-namespaces'), await positionOf(service)]
  for (const more of [['--dry-run'], ['--yes']]) {
    const ran = await inside(holder, 'import', ...args, ...more)
    t.match([ran.exit, ran.err], [exit, why], `${more[0]}: ${ran.err}`)
    t.match(ran.err, 'Nothing is written.')
  }
  t.strictSame([await exported(service, '--all-namespaces'), await positionOf(service)], before)
}
type Tap = Pick<typeof t, 'match' | 'strictSame'>

await t.test('an import needs all its rights before its first write, and so does its dry run', async (t) => {
  const service = await startService(t)
  for (const key of ['k1', 'k2']) await service.request('POST', N, { key, name: key })
  for (const key of ['x', 'y']) await service.request('POST', `${N}/k1/flags`, { key, name: key })
  const viewer = { role: 'viewer', namespaceKey: '*' }
  const replaced = file('namespace: k1\nflags:\n- {key: a, name: A}\nsegments:\n- {key: s, name: S}\n')
  const rights = ['flag.create', 'flag.update', 'flag.delete', 'segment.delete']
  const limited = await tokenWith(service, viewer, { namespaceKey: 'k1', rights })
  await refusedWith(t, [service, limited], [5, /needs the right segment\.create in k1/], replaced, '--drop')

  const editor = await tokenWith(service, viewer, { role: 'editor', namespaceKey: 'k1' })
  const both = file('namespace: k1\nflags: [{key: a, name: A}]\n---\nnamespace: k2\nflags: [{key: a, name: A}]\n')
  await refusedWith(t, [service, editor], [5, /needs the right flag\.create in k2/], both)
  const made = file('namespace: k1\nflags: [{key: a, name: A}]\n---\nnamespace: fresh\n')
  await refusedWith(t, [service, editor], [5, /needs the right namespace\.create in fresh/], made)
  const only = await tokenWith(service, viewer, { namespaceKey: 'k1', rights: ['flag.create', 'segment.create'] })
  const parts = file(
    'namespace: k1\nflags: [{key: a, name: A, variants: [{key: v}]}]\nsegments: [{key: s, name: S, constraints: [{type: STRING_COMPARISON_TYPE, property: p, operator: eq, value: v}]}]',
  )
  await refusedWith(t, [service, only], [5, /right segment\.update in k1[^]*right flag\.update in k1/], parts)
  t.match(await inside(editor, 'import', replaced, '--drop', '--yes'), {
    exit: 0,
    err: /Imported: 2 created, 2 deleted\./,
  })
})

await t.test('a quota, a missing reason and read-only storage are known before the first write', async (t) => {
  const service = await startService(t, { 'quotas.flags_per_namespace': '3', 'authorization.require_reason': 'k2' })
  const root = { url: service.url, token: service.token }
  for (const key of ['k1', 'k2']) await service.request('POST', N, { key, name: key }, { 'event-reason': 'a test' })
  for (const key of ['x', 'y', 'z']) await service.request('POST', `${N}/k1/flags`, { key, name: key })
  const flags = (...keys: readonly string[]) => keys.map((key) => `- {key: ${key}, name: N}\n`).join('')
  const five = file(`namespace: k1\nflags:\n${flags('a', 'b', 'c', 'd', 'e')}`)
  const quota = /"k1" would have 8 flags before the first deletion; quotas\.flags_per_namespace allows 3/
  await refusedWith(t, [service, root], [1, quota], five, '--drop')
  const reasoned = file('namespace: k2\nflags: [{key: a, name: A}]\n')
  await refusedWith(t, [service, root], [2, /reason is required in .*: --reason TEXT/], reasoned)

  const editor = await tokenWith(service, { role: 'editor', namespaceKey: 'k1' })
  const ran = await inside(editor, 'import', five, '--drop', '--yes')
  t.match([ran.exit, ran.err], [1, /already has 3 flags/], 'without config.read the service refuses the first flag')
  t.strictSame(await keysOf(service, 'flags', 'k1'), ['x', 'y', 'z'])

  const readOnly = await startService(t, { 'storage.read_only': 'true' })
  await refusedWith(
    t,
    [readOnly, { url: readOnly.url, token: readOnly.token }],
    [1, /read-only/],
    file(`flags:\n${flags('a')}`),
  )
})

await t.test('texts beyond the bytes of a namespace are known before the first write', async (t) => {
  const service = await startService(t, { 'quotas.bytes_per_namespace': '20000' })
  await service.request('POST', N, { key: 'k1', name: 'k1' })
  await service.request('POST', `${N}/k1/flags`, { key: 'old', name: 'Old', description: 'd'.repeat(7_000) })
  const flags = (count: number, bytes: number) =>
    Array.from({ length: count }, (_, n) => `- {key: f${n}, name: N, description: ${'d'.repeat(bytes)}}\n`).join('')
  const large = file(`namespace: k1\nflags:\n${flags(2, 8_000)}`)
  const quota =
    /"k1" would have 23\d{3} bytes of texts before the first deletion; quotas\.bytes_per_namespace allows 20000/
  await refusedWith(t, [service, { url: service.url, token: service.token }], [1, quota], large, '--drop')
  t.strictSame(await keysOf(service, 'flags', 'k1'), ['old'])
  const fits = await inside(
    { url: service.url, token: service.token },
    'import',
    file(`namespace: k1\nflags:\n${flags(2, 5_000)}`),
  )
  t.match(fits, { exit: 0 })
})

await t.test('a document that is silent about a name or description of a namespace leaves it unchanged', async (t) => {
  const service = await startService(t)
  const editor = await tokenWith(service, { role: 'editor', namespaceKey: 'default' })
  const there = async () => (await service.request<object>('GET', `${N}/default`)).json
  const document = (namespace: string, key: string) =>
    file(`version: "1.5"\nnamespace: ${namespace}\nflags:\n- {key: ${key}, name: A}\n`)
  t.match(await inside(editor, 'import', document('{key: default, name: Default}', 'a')), { exit: 0 })
  t.match(await there(), { name: 'Default', description: 'Default namespace' })
  const removing = document('{key: default, description: ""}', 'b')
  const root = { url: service.url, token: service.token }
  t.match(await inside(root, 'import', removing, '--dry-run'), { out: /^\* namespace default: description removed\n/ })
  t.match(await inside(editor, 'import', removing), { exit: 5, err: /needs the right namespace\.update in default/ })
  t.match(await inside(root, 'import', removing), { exit: 0 })
  t.match(await there(), { name: 'Default', description: '' })
  t.match(await inside(root, 'import', document('{key: default, description: D}', 'c')), { exit: 0 })
  t.match(await there(), { name: 'Default', description: 'D' })
  t.match(await exported(service), /^ {2}description: D$/m)
})

await t.test('an import with --drop never takes away what the document holds', async (t) => {
  const service = await startService(t)
  const past = `segments:
- {key: staff, name: Staff, constraints: [{type: STRING_COMPARISON_TYPE, property: mail, operator: suffix, value: "@x"}]}
flags:
- {key: steady, name: S, type: BOOLEAN_FLAG_TYPE, rollouts: [{segment: {key: staff, value: true}}]}
- {key: moved, name: M, type: BOOLEAN_FLAG_TYPE, rollouts: [{threshold: {percentage: 100, value: true}}]}
- {key: typed, name: T, enabled: true, variants: [{key: v, default: true}]}
`
  t.match(await inside(service, 'import', file(past)), { exit: 0 })
  const whole = await exported(service)
  const base = `${N}/default/flags`
  for (const [key, type] of [
    ['later', 'BOOLEAN_FLAG_TYPE'],
    ['another', 'VARIANT_FLAG_TYPE'],
  ] as const)
    await service.request('POST', base, { key, name: key, type })
  await service.request('DELETE', `${base}/typed`)
  await service.request('POST', base, { key: 'typed', name: 'T', type: 'BOOLEAN_FLAG_TYPE' })
  await service.request('POST', `${N}/default/segments`, { key: 'young', name: 'Y' })
  await service.request('POST', `${base}/moved/rollouts`, { segment: { segmentKey: 'young', value: true } })
  const answers: string[] = []
  const ask = async (flagKey: string) => {
    const asked = { namespaceKey: 'default', flagKey, entityId: 'e', context: { mail: 'a@x' } }
    const { status, json } = await service.request<{ enabled?: boolean }>('POST', '/evaluate/v1/boolean', asked)
    answers.push(`${flagKey} ${status} ${json.enabled}`)
  }
  const writes: string[] = []
  // Evaluates the flags after each write of the import, before the import learns of its answer.
  const between = createServer((request, response) => {
    const body: Buffer[] = []
    request.on('data', (chunk: Buffer) => body.push(chunk))
    const forward = async () => {
      const { method = '', url = '' } = request
      const given = Buffer.concat(body)
      const answer = await fetch(`${service.url}${url}`, {
        method,
        headers: { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' },
        ...(given.length > 0 && { body: given }),
      })
      if (method !== 'GET' && !url.includes('dryRun')) {
        writes.push(`${method} ${url.replace(`${N}/default/`, '')}`)
        for (const key of ['steady', 'moved']) await ask(key)
      }
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    }
    request.on('end', () => void forward())
  })
  await new Promise<void>((done) => between.listen(0, '127.0.0.1', done))
  t.teardown(() => void between.close())
  const { port } = between.address() as AddressInfo
  const through = { url: `http://127.0.0.1:${port}`, token: service.token }
  const planned = await inside(through, 'import', file(whole), '--drop', '--dry-run')
  t.strictSame(planned.out.split('\n'), [
    '* flag default/moved: 1 rollout deleted',
    '* flag default/typed: deleted and created again, because its type changes',
    '- flag default/later',
    '- flag default/another',
    '- segment default/young',
    '',
  ])
  t.match(
    planned.err,
    /After the import clients get "not found" for 2 flags[^]*of another type[^]*2 unchanged, 3 deleted/,
  )
  t.strictSame(writes, [])
  t.match(await inside(through, 'import', file(whole), '--drop', '--yes'), { exit: 0 })
  t.strictSame(writes.slice(0, 4).sort(), [
    'DELETE flags/typed',
    'POST flags',
    'POST flags/moved/changes',
    'POST flags/typed/changes',
  ])
  t.strictSame(writes.slice(4), ['DELETE flags/later', 'DELETE flags/another', 'DELETE segments/young'])
  t.strictSame(new Set(answers), new Set(['steady 200 true', 'moved 200 true']))
  t.equal(
    await exported(service, '--sort-by-key'),
    await (async () => {
      const fresh = await startService(t)
      await inside(fresh, 'import', file(whole))
      return exported(fresh, '--sort-by-key')
    })(),
  )
})

/** A document as JSON without what a change of existing items leaves: gaps between ranks, order of creation. */
const comparable = (text: string): string =>
  JSON.stringify(JSON.parse(text), (name, value: unknown) => {
    if (name === 'rank') return undefined
    return name === 'constraints' ? (value as object[]).map((each) => JSON.stringify(each)).sort() : value
  })

await t.test('an import with --drop brings each state to each other state, and then has nothing to do', async (t) => {
  const [service, fresh] = [await startService(t), await startService(t)]
  const lost = (): never => {
    throw new Error('no variant is lost here')
  }
  const seed = Number(process.env['SEED'] ?? 7)
  const documents = fc.sample(contents, { numRuns: 6, seed })
  const yaml = (one: (typeof documents)[number], key: string) =>
    file(yamlText(documentTree({ ...one, namespace: { ...one.namespace, key } }, lost)))
  for (const [n, one] of documents.entries()) {
    const ran = await inside(service, 'import', yaml(one, 'a'), '--drop', '--yes')
    t.equal(ran.exit, 0, `seed ${seed}, ${n}: ${ran.err}`)
    const key = `fresh-${n}`
    t.equal((await inside(fresh, 'import', yaml(one, key))).exit, 0)
    const form = ['--sort-by-key', '--format', 'json'] as const
    const wanted = (await exported(fresh, '-n', key, ...form)).replace(`"key": "${key}"`, '"key": "a"')
    t.equal(comparable(await exported(service, '-n', 'a', ...form)), comparable(wanted), `seed ${seed}, ${n}`)
    const before = await positionOf(service)
    const again = await inside(service, 'import', yaml(one, 'a'), '--drop', '--yes')
    t.match(again, { exit: 0, err: /^Imported: (\d+ unchanged|nothing to do)\.$/m }, again.err)
    t.equal(await positionOf(service), before)
  }
})

await t.test('an import of a document with a client token in a text writes nothing', async (t) => {
  const service = await startService(t)
  const root = { url: service.url, token: service.token }
  const secret = `rct_${'0'.repeat(49)}`
  for (const [what, document] of [
    ['name', `flags:\n- {key: a, name: ${secret}}\n`],
    ['description', `flags:\n- {key: a, name: A, variants: [{key: v, description: see ${secret}}]}\n`],
    [
      'value',
      `segments:\n- {key: s, name: S, constraints: [{type: STRING_COMPARISON_TYPE, property: p, operator: eq, value: ${secret}}]}\n`,
    ],
  ] as const) {
    const why = new RegExp(`${what}: must not contain a client token`)
    await refusedWith(t, [service, root], [1, why], file(`flags: [{key: first, name: F}]\n---\n${document}`))
  }
})

import t from 'tap'
import { startService } from '../../start.ts'
import { creator, refuses } from './refusals.ts'

const N = '/api/v1/namespaces/default'
type Event = { readonly position: bigint }
const positionOf = (answer: { readonly headers: Readonly<Record<string, unknown>> }): Event => ({
  position: BigInt(String(answer.headers['event-position'])),
})

await t.test('all routes share the headers for revisions, positions and idempotency', async (t) => {
  const service = await startService(t)
  const { request } = service
  const refused = refuses(service)
  const create = creator(service)
  await create(t, '/api/v1/segments', { key: 's', name: 'S' })

  await t.test('a flag and its parts have one revision, and only a change increases it', async (t) => {
    await create(t, '/api/v1/flags', { key: 'f', name: 'F' })
    const path = `${N}/flags/f`
    const etag = async (url = path) => (await request('GET', url)).headers.etag
    t.equal(await etag(), '"1"')
    const variant = await create(t, `${path}/variants`, { key: 'v' })
    const rule = await create(t, `${path}/rules`, { segmentKey: 's' })
    const rollout = await create(t, `${path}/rollouts`, { threshold: { percentage: 1 } })
    t.equal(await etag(), '"4"')
    t.equal(await etag(`${path}/rules/${rule.id}`), '"4"')
    t.equal(await etag(`${path}/rollouts/${rollout.id}`), '"4"')
    const same = await request('PUT', `${path}/variants/${variant.id}`, { key: 'v' })
    t.equal(same.headers.etag, '"4"', 'a write that changes nothing')
    t.match(
      (await request('GET', path)).json,
      { updatedAt: (await request('GET', path)).json['createdAt'] },
      'its parts do not move its own time',
    )
    t.equal(await etag(`${N}/segments/s`), '"1"', 'being used does not change a segment')
    await create(t, `${N}/segments/s/constraints`, { type: 1, property: 'p', operator: 'empty' })
    t.equal(await etag(`${N}/segments/s`), '"2"')
    t.equal(await etag(N), '"1"', 'nor having flags a namespace')
  })

  await t.test('If-None-Match with the present tag gets 304 without a body', async (t) => {
    for (const [path, tag] of [
      [`${N}/flags/f`, '4'],
      [`${N}/segments/s`, '2'],
      [N, '1'],
    ] as const) {
      for (const given of [`"${tag}"`, `W/"${tag}"`, tag, '*', `"x", W/"y","${tag}"`]) {
        const answer = await request('GET', path, undefined, { 'if-none-match': given })
        t.same([answer.status, answer.text, answer.headers.etag], [304, '', `"${tag}"`], given)
      }
      t.equal((await request('GET', path, undefined, { 'if-none-match': '"99"' })).status, 200)
    }
    t.match(await request('HEAD', `${N}/flags/f`), { status: 200, text: '', headers: { etag: '"4"' } })
  })

  await t.test('If-Match gets 412 for another revision, and succeeds for the present one and for *', async (t) => {
    const path = `${N}/flags/f`
    const moved = (have: number, given: string) => `revision moved: have "${have}", given "${given}"`
    await refused(t, ['PUT', path, { name: 'G' }, { 'if-match': '"3"' }], moved(4, '3'), 'revision_moved')
    t.equal((await request('PUT', path, { name: 'G' }, { 'if-match': '"3"' })).headers.etag, '"4"')
    t.match(await request('PUT', path, { name: 'G' }, { 'if-match': '"9", "4"' }), {
      status: 200,
      headers: { etag: '"5"' },
    })
    t.match(await request('PUT', path, { name: 'H' }, { 'if-match': '*' }), { status: 200, headers: { etag: '"6"' } })
    await refused(t, ['POST', `${path}/variants`, { key: 'w' }, { 'if-match': '"1"' }], moved(6, '1'), 'revision_moved')
    t.match(await request('POST', `${path}/variants`, { key: 'w' }, { 'if-match': '6' }), {
      status: 200,
      headers: { etag: '"7"' },
    })
    await refused(t, ['POST', `${path}/variants`, { key: 'w' }, { 'if-match': '"6"' }], moved(7, '6'), 'revision_moved')
    await refused(t, ['DELETE', path, undefined, { 'if-match': '"6"' }], moved(7, '6'), 'revision_moved')
    await refused(t, ['PUT', N, { name: 'x' }, { 'if-match': '"7"' }], moved(1, '7'), 'revision_moved')
    await refused(t, ['DELETE', `${N}/segments/s`, undefined, { 'if-match': '"1"' }], moved(2, '1'), 'revision_moved')
    await refused(t, ['PUT', path, { name: '' }, { 'if-match': '"1"' }], 'invalid field name: must not be empty')
    for (const malformed of ['"1', 'W/"', 'W/'])
      await refused(
        t,
        ['PUT', path, { name: '' }, { 'if-match': malformed }],
        'invalid header If-Match: must be "*" or a list of entity tags',
        'invalid_header',
      )
  })

  await t.test('If-Match on a missing resource is refused', async (t) => {
    for (const given of ['*', '"1"']) {
      const tag = given === '*' ? '*' : '1'
      const header = { 'if-match': given }
      for (const [path, have] of [
        [`${N}/flags`, 7],
        [`${N}/segments`, 2],
        ['/api/v1/namespaces', 1],
      ] as const) {
        const key = path.endsWith('flags') ? 'f' : path.endsWith('segments') ? 's' : 'default'
        await refused(
          t,
          ['POST', path, { key: 'new', name: 'x' }, header],
          `revision moved: have "0", given "${tag}"`,
          'revision_moved',
        )
        await refused(
          t,
          ['POST', path, { key, name: 'x' }, header],
          `revision moved: have "${have}", given "${tag}"`,
          'revision_moved',
        )
      }
      const none = `revision moved: have "0", given "${tag}"`
      await refused(
        t,
        ['POST', '/api/v1/namespaces/none/flags', { key: 'f', name: 'x' }, header],
        'namespace "none" not found',
        'not_found',
      )
      await refused(t, ['PUT', `${N}/flags/none`, { name: 'x' }, header], 'flag "default/none" not found', 'not_found')
      await refused(
        t,
        ['DELETE', '/api/v1/namespaces/none', undefined, header],
        'namespace "none" not found',
        'not_found',
      )
      await refused(t, ['DELETE', `${N}/flags/none`, undefined, header], none, 'revision_moved')
      await refused(t, ['DELETE', `${N}/segments/none`, undefined, header], none, 'revision_moved')
      await refused(t, ['DELETE', `${N}/flags/none/rules/x`, undefined, header], none, 'revision_moved')
      await refused(
        t,
        ['DELETE', `${N}/flags/f/rules/x`, undefined, header],
        `revision moved: have "7", given "${tag}"`,
        'revision_moved',
      )
    }
  })

  await t.test('Event-Position grows with each event, and is the newest position if nothing changed', async (t) => {
    const one = positionOf(await request('PUT', `${N}/flags/f`, { name: '1' }))
    const two = positionOf(await request('POST', `${N}/flags/f/rules`, { segmentKey: 's' }))
    const three = positionOf(await request('DELETE', `${N}/flags/none`))
    t.ok(two.position > one.position)
    t.equal(three.position, two.position)
    const read = await request('GET', `${N}/flags/f`, undefined, { 'after-position': String(two.position) })
    t.equal(read.status, 200)
    t.notOk(read.headers['event-position'])
    await refused(
      t,
      ['GET', `${N}/flags/f`, undefined, { 'after-position': 'x' }],
      'invalid header After-Position: must be a decimal number',
      'invalid_header',
    )
  })

  await t.test('requests with the same Idempotency-Key have one effect and one answer', async (t) => {
    let n = 0
    const parts = [
      [`${N}/flags`, { key: 'once', name: 'x' }],
      [`${N}/segments`, { key: 'once', name: 'x' }],
      ['/api/v1/namespaces', { key: 'once', name: 'x' }],
      [`${N}/flags/once/variants`, { key: 'v' }],
      [`${N}/flags/once/rules`, { segmentKey: 'once' }],
      [`${N}/flags/once/rollouts`, { segment: { segmentKeys: ['s', 'once'] } }],
      [`${N}/segments/once/constraints`, { type: 1, property: 'p', operator: 'empty' }],
    ] as const
    for (const [path, body] of parts) {
      const key = { 'idempotency-key': `key-${n++}` }
      const before = positionOf(await request('DELETE', `${N}/flags/none`)).position
      const both = await Promise.all([1, 2, 3].map(() => request('POST', path, body, key)))
      const made = both.find(({ headers }) => headers['idempotency-replayed'] === undefined)
      t.ok(made, `${path} was asked once`)
      for (const answer of both) {
        if (answer.status === 409)
          t.match(answer.json, { message: 'a request with this idempotency key is in progress' })
        else t.same([answer.status, answer.json], [200, made?.json])
      }
      const later = await request('POST', path, body, key)
      t.match(later, {
        status: 200,
        json: made?.json,
        headers: { 'idempotency-replayed': 'true', etag: made?.headers.etag },
      })
      t.equal(positionOf(later).position, positionOf(made!).position)
      const after = positionOf(await request('DELETE', `${N}/flags/none`)).position
      t.equal(after, positionOf(made!).position, 'no event beyond those of the one request')
      t.ok(after > before)
      await refused(
        t,
        ['POST', path, { ...body, description: 'other' }, key],
        'idempotency key was used with another request',
        'idempotency_mismatch',
      )
    }
    const flag = await request<{ variants: unknown[] }>('GET', `${N}/flags/once`)
    t.equal(flag.json.variants.length, 1)
    t.equal(flag.headers.etag, '"4"')
    const bad = { 'idempotency-key': 'k' }
    await refused(t, ['POST', `${N}/flags`, { key: '', name: 'x' }, bad], 'invalid field key: must not be empty')
    await create(t, `${N}/flags`, { key: 'retried', name: 'x' }, bad)
    await refused(
      t,
      ['POST', `${N}/flags`, {}, { 'idempotency-key': 'a b' }],
      'invalid header Idempotency-Key: must be 1 to 255 printable ASCII characters',
      'invalid_header',
    )
    await service.reopen()
    t.match(await request('POST', `${N}/flags`, { key: 'retried', name: 'x' }, bad), {
      status: 200,
      headers: { 'idempotency-replayed': 'true' },
    })
  })
})

await t.test('a read-only instance refuses every write under /api/v1', async (t) => {
  const service = await startService(t, { 'storage.read_only': 'true' })
  const refused = refuses(service)
  for (const [method, path] of [
    ['POST', `${N}/flags`],
    ['PUT', `${N}/flags/f`],
    ['DELETE', N],
    ['DELETE', '/api/v1/segments/s'],
    ['PUT', `${N}/flags/f/rollouts/order`],
  ] as const)
    await refused(
      t,
      [method, path, method === 'DELETE' ? undefined : {}],
      'modification is not allowed in read-only mode',
      'read_only',
    )
  t.equal((await service.request('GET', `${N}/flags`)).status, 200)
})

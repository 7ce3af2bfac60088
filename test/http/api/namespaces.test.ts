import t from 'tap'
import { startService } from '../../start.ts'
import { creator, refuses } from './refusals.ts'

const N = '/api/v1/namespaces'

await t.test('namespaces are created, read, changed and deleted', async (t) => {
  const service = await startService(t)
  const { request } = service
  const refused = refuses(service)
  const create = creator(service)

  await t.test('the namespace "default" exists from the start, is protected and can be updated', async (t) => {
    const first = await request('GET', `${N}/default`)
    t.match(first.json, { key: 'default', name: 'Default', description: 'Default namespace', protected: true })
    t.match(await request('PUT', `${N}/default`, { name: 'Main' }), {
      status: 200,
      json: { name: 'Main', description: '', protected: true },
    })
    await refused(t, ['DELETE', `${N}/default`], 'namespace "default" is protected', 'protected')
    await refused(t, ['DELETE', `${N}/default?force=true`], 'namespace "default" is protected', 'protected')
  })

  await t.test('a namespace can be created, read, replaced and deleted', async (t) => {
    const made = await request('POST', N, { key: 'one', name: 'One', description: 'first', protected: true })
    t.match(made, {
      status: 200,
      headers: { etag: '"1"', 'event-position': /^\d+$/, 'content-type': 'application/json' },
    })
    t.match(made.json, {
      key: 'one',
      name: 'One',
      description: 'first',
      protected: false,
      createdAt: /\.\d{3}Z$/,
      updatedAt: /\.\d{3}Z$/,
    })
    t.same((await request('GET', `${N}/one`)).json, made.json)
    const changed = await request('PUT', `${N}/one`, { key: 'ignored', name: 'Uno' })
    t.match(changed, { status: 200, headers: { etag: '"2"' }, json: { key: 'one', name: 'Uno', description: '' } })
    t.same((await request('DELETE', `${N}/one`)).json, {})
    await refused(t, ['GET', `${N}/one`], 'namespace "one" not found', 'not_found')
  })

  await t.test('invalid fields of a namespace are refused with the documented messages', async (t) => {
    const long = (n: number) => 'é'.repeat(n)
    await refused(t, ['POST', N, { name: 'x' }], 'invalid field key: must not be empty')
    await refused(t, ['POST', N, { key: 'a b', name: 'x' }], 'invalid field key: contains invalid characters')
    await refused(
      t,
      ['POST', N, { key: 'k'.repeat(256), name: 'x' }],
      'invalid field key: must be at most 255 characters',
    )
    await refused(t, ['POST', N, { key: 'x' }], 'invalid field name: must not be empty')
    await refused(t, ['POST', N, { key: 'x', name: long(256) }], 'invalid field name: must be at most 255 characters')
    await refused(
      t,
      ['POST', N, { key: 'x', name: 'x', description: long(10_001) }],
      'invalid field description: must be at most 10000 characters',
    )
    await refused(t, ['PUT', `${N}/default`, {}], 'invalid field name: must not be empty')
    await create(t, N, { key: 'a-Z_9,', name: '😀'.repeat(255), description: long(10_000) })
  })

  await t.test('a duplicate namespace is refused, and a missing one gets 404', async (t) => {
    await create(t, N, { key: 'twice', name: 'x' })
    await refused(t, ['POST', N, { key: 'twice', name: 'x' }], 'namespace "twice" is not unique', 'not_unique')
    await refused(t, ['PUT', `${N}/nowhere`, { name: 'x' }], 'namespace "nowhere" not found', 'not_found')
    await refused(t, ['DELETE', `${N}/nowhere`], 'namespace "nowhere" not found', 'not_found')
    await refused(
      t,
      ['POST', `${N}/nowhere/flags`, { key: 'f', name: 'x' }],
      'namespace "nowhere" not found',
      'not_found',
    )
    await refused(
      t,
      ['POST', `${N}/nowhere/segments`, { key: 's', name: 'x' }],
      'namespace "nowhere" not found',
      'not_found',
    )
  })

  await t.test('a namespace with flags is deleted only by force, and is empty if created again', async (t) => {
    await create(t, N, { key: 'full', name: 'x' })
    await create(t, `${N}/full/flags`, { key: 'f', name: 'x' })
    await create(t, `${N}/full/segments`, { key: 's', name: 'x' })
    await refused(
      t,
      ['DELETE', `${N}/full`],
      'namespace "full" cannot be deleted; flags must be deleted first',
      'not_empty',
    )
    await refused(
      t,
      ['DELETE', `${N}/full?force=false`],
      'namespace "full" cannot be deleted; flags must be deleted first',
      'not_empty',
    )
    t.equal((await request('DELETE', `${N}/full?force`)).status, 200)
    t.match(await request('GET', `${N}/full/flags`), { status: 200, json: { flags: [], totalCount: 0 } })
    await create(t, N, { key: 'full', name: 'again' })
    await refused(t, ['GET', `${N}/full/flags/f`], 'flag "full/f" not found', 'not_found')
    await refused(t, ['GET', `${N}/full/segments/s`], 'segment "full/s" not found', 'not_found')
    t.match(await create(t, `${N}/full/flags`, { key: 'f', name: 'new' }), { name: 'new' })
    t.equal((await request('DELETE', `${N}/full/flags/f`)).status, 200)
    t.equal((await request('DELETE', `${N}/full`)).status, 200, 'segments alone do not hold it')
  })

  await t.test('namespaces are still there after a restart', async (t) => {
    const before = await request('GET', N)
    await service.reopen()
    t.same((await request('GET', N)).json, before.json)
  })
})

import t from 'tap'
import { startService } from '../../start.ts'
import { creator } from './refusals.ts'

const N = '/api/v1/namespaces/default'

await t.test('races between two resources end in a valid state', async (t) => {
  const service = await startService(t)
  const { request } = service
  const create = creator(service)
  await create(t, `${N}/flags`, { key: 'f', name: 'x' })

  await t.test('a segment is deleted while rules and rollouts start to use it', async (t) => {
    const outcomes = new Set<string>()
    for (let n = 0; n < 25; n++) {
      const key = `s${n}`
      await create(t, `${N}/segments`, { key, name: 'x' })
      const use =
        n % 2
          ? { path: 'rules', body: { segmentKey: key } }
          : { path: 'rollouts', body: { segment: { segmentKey: key } } }
      const ask = () => request('POST', `${N}/flags/f/${use.path}`, use.body)
      const [first, gone, second] = await Promise.all([ask(), request('DELETE', `${N}/segments/${key}`), ask()])
      const exists = (await request('GET', `${N}/segments/${key}`)).status === 200
      const used = [first, second].filter(({ status }) => status === 200).length
      for (const { status, json } of [first, second])
        if (status !== 200) t.match([status, json['message']], [404, /not found$/])
      if (gone.status !== 200) t.match([gone.status, gone.json['message']], [400, `segment "default/${key}" is in use`])
      t.equal(exists, gone.status !== 200)
      t.notOk(used > 0 && !exists, 'nothing uses a segment that is gone')
      outcomes.add(exists ? 'kept' : 'gone')
    }
    t.ok(outcomes.size > 0)
    const { json } = await request<{ rules: { id: string }[] }>('GET', `${N}/flags/f/rules`)
    for (const { id } of json.rules) await request('DELETE', `${N}/flags/f/rules/${id}`)
    const rollouts = (await request<{ rollouts: { id: string }[] }>('GET', `${N}/flags/f/rollouts`)).json.rollouts
    for (const { id } of rollouts) await request('DELETE', `${N}/flags/f/rollouts/${id}`)
    const left = (await request<{ segments: { key: string }[] }>('GET', `${N}/segments`)).json.segments
    for (const { key } of left)
      t.equal((await request('DELETE', `${N}/segments/${key}`)).status, 200, `${key} is held by nobody any more`)
  })

  await t.test('a namespace is deleted while flags are created in it', async (t) => {
    for (let n = 0; n < 20; n++) {
      const path = `/api/v1/namespaces/n${n}`
      await create(t, '/api/v1/namespaces', { key: `n${n}`, name: 'x' })
      const flag = (key: string) => request('POST', `${path}/flags`, { key, name: 'x' })
      const [first, gone, second] = await Promise.all([
        flag('a'),
        request('DELETE', `${path}${n % 2 ? '?force=true' : ''}`),
        flag('b'),
      ])
      for (const { status, json } of [first, second])
        if (status !== 200) t.same([status, json['message']], [404, `namespace "n${n}" not found`])
      const exists = (await request('GET', path)).status === 200
      t.equal(exists, gone.status !== 200)
      if (gone.status !== 200) t.match([gone.status, gone.json['message']], [400, /flags must be deleted first$/])
      const { json } = await request<{ flags: { key: string }[] }>('GET', `${path}/flags`)
      const made = [first, second].flatMap(({ status, json }) => (status === 200 ? [json['key']] : []))
      t.same(json.flags.map(({ key }) => key).sort(), exists ? made.map(String).sort() : [])
      if (!exists) continue
      for (const { key } of json.flags) await request('DELETE', `${path}/flags/${key}`)
      t.equal((await request('DELETE', path)).status, 200, 'nothing is left that would hold it')
    }
  })

  await t.test('each of several concurrent writers of a flag can read its own write', async (t) => {
    await create(t, `${N}/flags`, { key: 'busy', name: 'x' })
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => request('PUT', `${N}/flags/busy`, { name: `name ${n}` })),
    )
    const fine = answers.filter(({ status }) => status === 200)
    t.equal(new Set(fine.map(({ headers }) => headers.etag)).size, fine.length, 'every revision is given once')
    for (const [n, { status, json }] of answers.entries()) {
      if (status === 200) t.equal(json['name'], `name ${n}`)
      else t.match([status, json], [409, { details: [{ value: { reason: 'write_conflict' } }] }])
    }
    const same = await Promise.all([1, 2, 3, 4].map(() => request('POST', `${N}/flags`, { key: 'single', name: 'x' })))
    t.same(
      same.map(({ status }) => status).sort((a, b) => a - b),
      [200, 400, 400, 400],
    )
  })
})

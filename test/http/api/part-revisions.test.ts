import t from 'tap'
import { startService } from '../../start.ts'
import { maker } from '../flags.ts'

const N = '/api/v1/namespaces/default'
type Made = { readonly id: string }

await t.test('writes and lists of parts return the revision of their flag or segment', async (t) => {
  const { request } = await startService(t)
  const make = maker({ request })
  await make.segment('s')
  await make.variantFlag('f')
  const tagOf = async (path: string) => (await request('GET', path)).headers['etag']
  const told = async (whole: string, method: string, path: string, body?: object) => {
    const { status, headers, json, text } = await request<Made>(method, path, body)
    t.equal(status, 200, text)
    t.match(headers['etag'], /^"\d+"$/, `${method} ${path}`)
    t.equal(headers['etag'], await tagOf(whole), `${method} ${path}`)
    if (method === 'DELETE' || path.endsWith('/order')) t.equal(text, '{}', 'and nothing else is new')
    return json.id
  }

  const flag = `${N}/flags/f`
  const variantId = await told(flag, 'POST', `${flag}/variants`, { key: 'v' })
  await told(flag, 'PUT', `${flag}/variants/${variantId}`, { key: 'w' })
  const rules = [
    await told(flag, 'POST', `${flag}/rules`, { segmentKey: 's' }),
    await told(flag, 'POST', `${flag}/rules`, { segmentKey: 's' }),
  ]
  await told(flag, 'PUT', `${flag}/rules/${rules[0]}`, { segmentKey: 's' })
  await told(flag, 'PUT', `${flag}/rules/order`, { ruleIds: rules.toReversed() })
  const shares = `${flag}/rules/${rules[0]}/distributions`
  const share = await told(flag, 'POST', shares, { variantId, rollout: 10 })
  await told(flag, 'PUT', `${shares}/${share}`, { variantId, rollout: 20 })
  await told(flag, 'GET', `${flag}/rules`)
  await told(flag, 'DELETE', `${shares}/${share}?variantId=${variantId}`)
  await told(flag, 'DELETE', `${flag}/rules/${rules[0]}`)
  await told(flag, 'DELETE', `${flag}/variants/${variantId}`)
  const threshold = { threshold: { percentage: 1, value: true } }
  const rollouts = [
    await told(flag, 'POST', `${flag}/rollouts`, threshold),
    await told(flag, 'POST', `${flag}/rollouts`, threshold),
  ]
  await told(flag, 'PUT', `${flag}/rollouts/${rollouts[0]}`, { threshold: { percentage: 2, value: true } })
  await told(flag, 'PUT', `${flag}/rollouts/order`, { rolloutIds: rollouts.toReversed() })
  await told(flag, 'GET', `${flag}/rollouts`)
  await told(flag, 'DELETE', `${flag}/rollouts/${rollouts[0]}`)
  await told(flag, 'DELETE', `${flag}/rollouts/${rollouts[0]}`)

  const segment = `${N}/segments/s`
  const constraint = { type: 'STRING_COMPARISON_TYPE', property: 'p', operator: 'eq', value: 'v' }
  const id = await told(segment, 'POST', `${segment}/constraints`, constraint)
  await told(segment, 'PUT', `${segment}/constraints/${id}`, { ...constraint, value: 'w' })
  await told(segment, 'DELETE', `${segment}/constraints/${id}`)

  const before = (await request('GET', flag)).headers['etag']!
  const moved = await request('DELETE', `${flag}/rollouts/${rollouts[1]}`, undefined, { 'if-match': before })
  t.match(moved, { status: 200, headers: { etag: await tagOf(flag) } })
  t.equal(
    (await request('DELETE', `${flag}/rollouts/x`, undefined, { 'if-match': before })).status,
    412,
    'of the revision before',
  )
})

await t.test('a list has a revision, also in the past, and answers 304 if it is unchanged', async (t) => {
  const { request } = await startService(t)
  const make = maker({ request })
  await make.boolean('f')
  await make.threshold('f', 1)
  const list = `${N}/flags/f/rollouts`
  const { headers } = await request('GET', list)
  const position = (await request('PUT', `${N}/flags/f`, { name: 'g' })).headers['event-position']!
  await make.threshold('f', 2)
  t.match((await request('GET', `${list}?at=${Number(position) - 1}`)).headers, { etag: headers['etag'] })
  const { etag = '' } = (await request('GET', list)).headers
  t.notSame(etag, headers['etag'])
  t.equal((await request('GET', list, undefined, { 'if-none-match': etag })).status, 304)
  t.equal((await request('GET', list, undefined, { 'if-none-match': headers['etag']! })).status, 200)
})

await t.test('parts of a missing flag have no revision', async (t) => {
  const { request } = await startService(t)
  for (const [method, path] of [
    ['GET', `${N}/flags/none/rules`],
    ['GET', `${N}/flags/none/rollouts`],
    ['DELETE', `${N}/flags/none/rules/x`],
    ['DELETE', `${N}/flags/none/rollouts/x`],
    ['DELETE', `${N}/flags/none/variants/x`],
    ['DELETE', `${N}/segments/none/constraints/x`],
    ['DELETE', '/api/v1/namespaces/none/flags/f/rules/x'],
  ] as const) {
    const { status, headers } = await request(method, path)
    t.equal(status, 200)
    t.notOk('etag' in headers, `${method} ${path}`)
  }
})

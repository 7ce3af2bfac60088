import t from 'tap'
import { type Started, startService } from '../../start.ts'
import { creator } from './refusals.ts'

const tokenFor = async ({ request }: Started, namespaceKey: string) => {
  const { json } = await request<{ clientToken: string }>('POST', '/auth/v1/method/token', { name: 'x', namespaceKey })
  return { authorization: `Bearer ${json.clientToken}` }
}
const scoped = {
  status: 403,
  json: { code: 7, message: 'permission denied', details: [{ value: { reason: 'token_scoped' } }] },
}
const parts = ['flags', 'flags/f', 'flags/f/rules', 'flags/f/rules/r', 'segments', 'segments/s'] as const

await t.test('a token for one namespace gives access to nothing outside of it', async (t) => {
  const service = await startService(t)
  const { request } = service
  const create = creator(service)
  for (const key of ['mine', 'other']) await create(t, '/api/v1/namespaces', { key, name: key })
  const mine = await tokenFor(service, 'mine')
  const ofDefault = await tokenFor(service, 'default')

  await t.test('a token for one namespace gives access to everything inside of it', async (t) => {
    t.equal((await request('GET', '/api/v1/namespaces/mine', undefined, mine)).status, 200)
    t.equal((await request('PUT', '/api/v1/namespaces/mine', { name: 'M' }, mine)).status, 200)
    await create(t, '/api/v1/namespaces/mine/segments', { key: 's', name: 's' }, mine)
    await create(t, '/api/v1/namespaces/mine/flags', { key: 'f', name: 'f' }, mine)
    await create(t, '/api/v1/namespaces/mine/flags/f/rules', { segmentKey: 's' }, mine)
    await create(t, '/api/v1/namespaces/mine/flags/f/rollouts', { threshold: { percentage: 1 } }, mine)
    t.equal((await request('DELETE', '/api/v1/namespaces/mine/flags/f', undefined, mine)).status, 200)
    await create(t, '/api/v1/flags', { key: 'f', name: 'f' }, ofDefault)
    t.equal((await request('GET', '/api/v1/namespaces//flags/f', undefined, ofDefault)).status, 200)
  })

  await t.test('a token for one namespace is refused elsewhere, whether or not the resource exists', async (t) => {
    for (const part of parts) {
      for (const root of ['/api/v1/namespaces/other', '/api/v1/namespaces/none', '/api/v1/namespaces/', '/api/v1'])
        t.match(await request('GET', `${root}/${part}`, undefined, mine), scoped, `GET ${root}/${part}`)
      t.match(await request('GET', `/api/v1/namespaces/mine/${part}`, undefined, ofDefault), scoped)
    }
    t.match(await request('GET', '/api/v1/namespaces/other/flags/f/rollouts', undefined, mine), scoped)
    t.match(await request('POST', '/api/v1/flags', { key: 'g', name: 'x' }, mine), scoped)
    t.match(await request('POST', '/api/v1/flags', 'not json', mine), scoped, 'before the body is looked at')
    t.match(await request('DELETE', '/api/v1/namespaces/other/flags/f', undefined, mine), scoped)
    t.match(await request('PUT', '/api/v1/namespaces/other', { name: 'x' }, mine), scoped)
    for (const method of ['GET', 'POST'])
      t.match(await request(method, '/api/v1/namespaces', { key: 'x', name: 'x' }, mine), scoped, method)
    for (const key of ['mine', 'other', 'none'])
      t.match(await request('DELETE', `/api/v1/namespaces/${key}`, undefined, mine), scoped, key)
    t.equal((await request('GET', '/api/v1/namespaces/mine', undefined, mine)).status, 200, 'all are still there')
  })

  await t.test('a token for one namespace still works after the namespace was deleted and created again', async (t) => {
    t.equal((await request('DELETE', '/api/v1/namespaces/mine?force=true')).status, 200)
    t.equal((await request('GET', '/api/v1/namespaces/mine', undefined, mine)).status, 404)
    await create(t, '/api/v1/namespaces', { key: 'mine', name: 'again' })
    t.match(await request('GET', '/api/v1/namespaces/mine', undefined, mine), { status: 200, json: { name: 'again' } })
  })

  await t.test('a request without a credential is refused', async (t) => {
    for (const part of parts)
      t.match(
        await request('GET', `/api/v1/${part}`, undefined, {
          authorization: '',
        }),
        { status: 401 },
      )
    t.match(await request('GET', '/api/v1/namespaces', undefined, { authorization: 'Bearer wrong' }), { status: 401 })
  })
})

await t.test('if management routes are open, a token in the request still limits it', async (t) => {
  const service = await startService(t, { 'authentication.exclude.management': 'true' })
  const nobody = { authorization: '' }
  t.equal((await service.request('POST', '/api/v1/flags', { key: 'f', name: 'x' }, nobody)).status, 200)
  t.equal(
    (await service.request('GET', '/api/v1/namespaces', undefined, { authorization: 'Bearer wrong' })).status,
    200,
  )
  const token = await tokenFor(service, 'default')
  t.match(await service.request('GET', '/api/v1/namespaces', undefined, token), scoped)
})

import t from 'tap'
import { type Headers, startService } from '../start.ts'
import { cookiesOf, type Issued, open } from './people.ts'

const SESSION = '/auth/v1/self/session'
const own = { 'sec-fetch-site': 'same-origin' }

await t.test('a service keeps the token cookie of another service on the same host', async (t) => {
  const [one, other] = [await startService(t), await startService(t)]
  const made = async (service: typeof one) =>
    (await service.request<Issued>('POST', '/auth/v1/method/token', { name: 'n' })).json
  const [mine, theirs] = [await made(one), await made(other)]
  const cookie = (token: string): Headers => ({ ...open, ...own, cookie: `service_client_token=${token}` })
  const set = async (method: string, path: string, token: string) => {
    const { status, headers } = await one.request(method, path, undefined, cookie(token))
    return [status, cookiesOf({ headers })['service_client_token']?.value]
  }
  for (const [method, path, status] of [
    ['GET', '/auth/v1/self', 401],
    ['GET', '/api/v1/namespaces', 401],
    ['GET', SESSION, 200],
    ['DELETE', SESSION, 200],
    ['PUT', '/auth/v1/self/expire', 401],
  ] as const)
    t.strictSame(await set(method, path, theirs.clientToken), [status, undefined], `${method} ${path}`)
  t.equal((await other.request('GET', '/auth/v1/self', undefined, cookie(theirs.clientToken))).status, 200)

  const forged = `${mine.clientToken.slice(0, -4)}AAAA`
  t.strictSame(await set('GET', '/auth/v1/self', forged), [401, undefined], 'a forged one opens nothing')
  t.strictSame(await set('DELETE', SESSION, mine.clientToken), [200, ''], 'its own is cleared')
  await one.request('DELETE', `/auth/v1/tokens/${mine.authentication.id}`)
  t.strictSame(await set('GET', '/auth/v1/self', mine.clientToken), [401, ''], 'one of its own that has ended, too')
  t.strictSame(await set('GET', '/auth/v1/self', 'ju nk'), [401, ''], 'and what is no token of anybody')
})

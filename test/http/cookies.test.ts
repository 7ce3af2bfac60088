import t from 'tap'
import { Type } from 'typebox'
import { route } from '../../src/http/route/route.ts'
import { ordinary } from '../../src/http/route/statements.ts'
import { cookieJar } from '../../src/http/wire/cookies.ts'
import { ok } from '../../src/http/wire/reply.ts'
import { virtualClock } from '../virtual-clock.ts'
import { demo } from './demo.ts'

void t.test('cookies have the documented attributes under the base path that the proxy forwards', async (t) => {
  const shared = {
    tokenName: 'service_client_token',
    stateName: 'service_client_state',
    secure: true,
    publicUrl: 'https://x.example/base/',
    clock: virtualClock('2026-01-01T00:00:00.999Z'),
  }
  const mount = (trustProxy: boolean) => {
    const jar = cookieJar({ ...shared, trustProxy })
    const about = {
      ...ordinary,
      access: { credential: 'public' },
      answer: Type.Object({}),
      summary: '',
      tag: '',
    } as const
    return demo({
      routes: [
        (app) =>
          route(app, {
            ...about,
            method: 'GET',
            url: '/auth/v1/set',
            run: ({ request, reply }) => {
              jar.setToken(request, reply, 'a+/=', 60_000)
              jar.clearState(reply, 'service_client_state_1', '/cb/callback')
              return ok(Object.fromEntries(jar.states(request)))
            },
          }),
      ],
    })
  }
  const [plain, proxied] = [await mount(false), await mount(true)]
  t.teardown(() => Promise.all([plain.app.close(), proxied.app.close()]))
  const cookies = async (url: string) => {
    const headers = {
      'x-forwarded-prefix': '/outer',
      cookie: 'service_client_state=r; service_client_state_1=s; service_client_state_2=',
    }
    const reply = await fetch(`${url}/auth/v1/set`, { headers })
    t.same(await reply.json(), { service_client_state_1: 's' })
    return reply.headers.getSetCookie()
  }
  const [token = '', state = ''] = await cookies(plain.url)
  t.match(
    token,
    /^service_client_token=a\+\/=; Max-Age=60; Path=\/base; Expires=Thu, 01 Jan 2026 00:01:00 GMT; HttpOnly; Secure; SameSite=Strict$/,
  )
  t.match(state, /^service_client_state_1=; Max-Age=0; Path=\/cb; .*HttpOnly; Secure; SameSite=Lax$/)
  t.match((await cookies(proxied.url))[0], /Path=\/outer\/base;/)
})

import t from 'tap'
import { collect } from '../contracts/log.ts'
import { eventually } from '../wait.ts'
import { becomes, isOfReach, issue, known, later, present, type Serving, serve } from './builds.ts'
import { openLogOf } from './named-servers.ts'
import { startStack } from './stack.ts'

/**
 * Changes to a hypothetical later build with format 3: revocations with a reason, and a new shape of expiry changes.
 */
const changes = [
  [
    'src/events/token.ts',
    'TokenRevoked: v1(',
    `TokenRevoked: ((schema) =>
      next(
        v1(schema),
        object('The token was revoked.', { ...token, why: word('Why.', 'word') }),
        ({ id }) => ({ id, why: 'unknown' }),
        { format: 3, downcast: ({ id }) => ({ id }) },
      ))(`,
  ],
  ['src/commands/token.ts', "'TokenRevoked', data }", "'TokenRevoked', data: { ...data, why: 'asked' } }"],
  [
    'src/events/token.ts',
    'TokenExpiryChanged: v1(',
    'TokenExpiryChanged: ((schema) => next(v1(schema), schema, (old) => old, { format: 3 }))(',
  ],
] as const

const { stack, skip } = await startStack(t)

await t.test(
  'an instance of a later version writes the older event format until no older one runs',
  { skip },
  async (t) => {
    const main = await later(t, changes)
    const log = await openLogOf(stack!.settings)
    t.teardown(() => log.close())
    /** Creates and ends a token; returns the wire name of its end. */
    const ended = async (service: Serving) => {
      const { id, token } = await issue(service, 'n')
      t.equal((await known(() => service.request('DELETE', `/auth/v1/tokens/${id}`))).status, 200)
      return { token, wire: (await collect(log.read(`token-${id}`))).at(-1)!.type }
    }
    const expire = async (service: Serving) => {
      const { token } = await issue(service, 'n')
      return known(() => service.request('PUT', '/auth/v1/self/expire', undefined, token))
    }
    const self = (service: Serving, token: string) => service.request('GET', '/auth/v1/self', undefined, token)
    const instances = async (service: Serving) => {
      const { text } = await service.request('GET', '/metrics')
      return [...text.matchAll(/^rollcall_instances\{version="[^"]+",format="(\d)"\} (\d)$/gm)].map(
        ([, ...found]) => found,
      )
    }

    const now = await serve(t, present, stack!.settings)
    const next = await serve(t, main, stack!.settings)
    t.ok(next.told('INFO').some(({ msg }) => String(msg).startsWith('events are written in an earlier format')))
    t.same(await instances(next), [
      ['2', '1'],
      ['3', '1'],
    ])
    const first = await ended(next)
    t.equal(first.wire, 'TokenRevoked')
    t.ok(await becomes(now, first.token, 401), 'the present build honours it')
    const refused = await expire(next)
    t.equal(refused.status, 503)
    t.match(refused.text, /"release_in_progress"/)
    t.equal((await expire(now)).status, 200, 'which the present build does as ever')

    t.equal(await now.end(), 0)
    const switched = () => next.told('INFO').find(({ msg }) => String(msg).endsWith('in that format from now on'))
    t.match(await eventually(switched, 'a build that writes its own format'), { from: 2, to: 3, instances: 1 })
    const second = await ended(next)
    t.equal(second.wire, 'TokenRevoked.v2')
    t.equal((await expire(next)).status, 200)

    const back = await serve(t, present, stack!.settings)
    // The older build closes the token if it folds the event, and treats it as ended if it reads the view of the later
    // build.
    t.ok(
      [401, 503].includes((await self(back, second.token)).status),
      'no token is accepted by an event of the later format',
    )
    t.ok(await becomes(back, first.token, 401))
    const third = await ended(next)
    t.equal(third.wire, 'TokenRevoked', 'and from its start on it is written to again')
    t.ok(await becomes(back, third.token, 401))
    t.equal(await back.end(), 0)
    t.equal(await next.end(), 0)
    t.same(
      next.told('ERROR').filter(({ msg }) => !isOfReach(msg)),
      [],
    )
  },
)

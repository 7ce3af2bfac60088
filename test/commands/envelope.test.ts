import t from 'tap'
import { type Context, enveloper } from '../../src/commands/envelope.ts'
import type { Written } from '../../src/events/define.ts'
import { tokenEvents } from '../../src/events/token.ts'

const written = (type: keyof typeof tokenEvents, data: object): Written[] => [
  { event: { type, data }, shape: tokenEvents[type], data },
]
const revoked = written('TokenRevoked', { id: 'a' })
const actor = { kind: 'system' } as const

const open = async (text: string) => ({ text })

const setup = (fails: () => boolean = () => false) => {
  const sealed: string[] = []
  const seal = async (subject: string, text: string) => {
    if (fails()) throw new Error('no key')
    return `${subject}(${text})${sealed.push(text)}`
  }
  const envelope = enveloper({ seal, open }, 'test', () => new Date(0))
  const metaOf = async (context: Context) => {
    const [event] = await envelope('token-a', revoked, 'RevokeToken', context)
    return JSON.parse(event!.meta) as { readonly ip?: string; readonly userAgent?: string }
  }
  return { sealed, metaOf }
}

await t.test('address and user agent of a request are encrypted once for all of its commands', async (t) => {
  const { sealed, metaOf } = setup()
  const context = { actor, subject: 'one', origin: { ip: '::1', userAgent: 'curl' } }
  const first = await metaOf(context)
  t.strictSame([first.ip, first.userAgent], ['one(::1)1', 'one(curl)2'])
  t.strictSame(await metaOf({ ...context, causationId: 'cause' }), { ...first, causationId: 'cause' })
  t.match(await metaOf({ ...context, subject: 'two' }), { ip: 'two(::1)3', userAgent: 'two(curl)4' })
  t.match(await metaOf({ ...context, origin: { ...context.origin } }), { ip: 'one(::1)5' }, 'another request')
  t.equal(sealed.length, 6)
})

await t.test('a client address without an owner is dropped, and a failed encryption is repeated', async (t) => {
  let failing = true
  const { sealed, metaOf } = setup(() => failing)
  const context = { actor, subject: 'one', origin: { ip: '::1' } }
  t.notMatch(await metaOf({ actor, origin: context.origin }), { ip: String })
  await t.rejects(metaOf(context), /no key/)
  failing = false
  t.match(await metaOf(context), { ip: 'one(::1)1' })
  t.equal(sealed.length, 1)
})

await t.test('personal data without the person they belong to are an error', async (t) => {
  const envelope = enveloper({ seal: async () => 'sealed', open }, 'test', () => new Date(0))
  const issued = written('TokenIssued', { id: 'a', profile: 'Ada' })
  await t.rejects(envelope('token-a', issued, 'IssueToken', { actor }), {
    message: 'TokenIssued.profile is personal data, but the event does not name the person',
  })
})

import t from 'tap'
import { countedMongo } from '../stand-ins/counted-mongo.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { startStack } from './stack.ts'

const { stack, skip } = await startStack(t)
const STEP_MS = 50

await t.test('an instance sends few commands to MongoDB', { skip }, async (t) => {
  const { url, taken, rests } = await countedMongo(t, stack!.settings['mongodb.url']!)
  const clock = virtualClock()
  const { request } = await startService(t, { ...stack!.settings, 'mongodb.url': url }, { clock })
  /** The commands of some seconds. Each step ends when the server has answered. */
  const sent = async (seconds: number) => {
    for (let ms = 0; ms < seconds * 1000; ms += STEP_MS) {
      await clock.advance(STEP_MS)
      await eventually(rests, 'the answers of MongoDB')
    }
    return taken()
  }
  const told = (commands: ReturnType<typeof taken>) => commands.map(({ name, on }) => `${name} ${on}`).join(', ')
  /** The commands of a creation until the views have it, without those of an idle instance. */
  const creation = async (headers: Record<string, string> = {}) => {
    taken()
    t.equal((await request('POST', '/auth/v1/method/token', { name: 'one' }, headers)).status, 200)
    const all = (await sent(1)).filter(({ on }) => on !== 'leases')
    t.ok(
      all.some(({ name, on }) => name === 'update' && on === 'views'),
      'the checkpoints have moved',
    )
    return all
  }
  await sent(12)

  await t.test('at most two a second while it is idle', async (t) => {
    const commands = await sent(20)
    t.ok(commands.length <= 40, `${commands.length} in 20 s: ${told(commands)}`)
  })

  await t.test('at most six for the creation of a token', async (t) => {
    await creation()
    const commands = await creation()
    t.ok(commands.length <= 6, told(commands))
  })

  await t.test('at most three more for one with an idempotency key', async (t) => {
    const commands = await creation({ 'idempotency-key': 'one' })
    t.ok(commands.length <= 9, told(commands))
  })
})

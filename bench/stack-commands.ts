import { setTimeout as sleep } from 'node:timers/promises'
import { countedMongo } from '../test/stand-ins/counted-mongo.ts'
import { asking } from './asking.ts'
import { progress, told } from './measure.ts'
import { having, instances, stack } from './stack.ts'

/** Seconds until the work of a start is over, and of the measurement of an idle instance. */
const STARTED_S = 12
const IDLE_S = 20
const CREATIONS = 10
/** Milliseconds after which the views have what was created. */
const SETTLED_MS = 1_000

/** S10: the commands that one instance sends to MongoDB. */
export const run = () =>
  having('S10', stack, async ({ settings, what }, owner) => {
    progress(`S10: commands to MongoDB on ${what}`)
    const { url, taken } = await countedMongo(owner, settings['mongodb.url']!)
    return instances({ ...settings, 'mongodb.url': url }, async ({ start }) => {
      const server = await start('--tokens=1')
      const { ask, end } = asking(server)
      const [token] = server.tokens
      await sleep(STARTED_S * 1000)
      taken()
      await sleep(IDLE_S * 1000)
      const idle = taken().length / IDLE_S
      const creations = async (keyed: boolean) => {
        for (let n = 0; n < CREATIONS; n++) {
          const { status } = await ask('POST', '/auth/v1/method/token', token!, '{"name":"one"}', {
            ...(keyed && { 'idempotency-key': `bench-${n}` }),
          })
          if (status !== 200) throw new Error(`no token: ${status}`)
          await sleep(SETTLED_MS)
        }
        return taken().length / CREATIONS - (idle * SETTLED_MS) / 1000
      }
      const plain = await creations(false)
      const keyed = await creations(true)
      end()
      return [
        told(
          'S10',
          'commands to MongoDB: a second of an idle instance; a token created alone; the same with an idempotency key',
          [idle, plain, keyed].map((count) => count.toFixed(1)).join('; '),
          what,
        ),
      ]
    })
  })

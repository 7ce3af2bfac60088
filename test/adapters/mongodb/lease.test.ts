import t from 'tap'
import { ownMongo } from '../servers.ts'
import { database } from './store.ts'

const { server, skip } = await ownMongo(t)
const TTL = 600
const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))
const until = async (enough: () => boolean) => {
  for (const end = Date.now() + 10_000; !enough() && Date.now() < end; ) await sleep(10)
  return enough()
}

await t.test(
  'of many instances one at a time holds a lease; the next takes it at once when it is given up',
  { skip },
  async (t) => {
    const { open } = database(server!.url)
    const opened = await Promise.all([open(), open(), open(), open()])
    const leases = opened.map(({ lease }) => lease('follower', TTL))
    const holders = () => leases.filter(({ held }) => held())
    t.ok(await until(() => holders().length > 0))
    let most = 0
    for (const end = Date.now() + 2 * TTL; Date.now() < end; await sleep(10)) most = Math.max(most, holders().length)
    t.equal(most, 1)
    const [first] = holders()
    await first!.close()
    t.notOk(first!.held())
    const given = Date.now()
    t.ok(await until(() => holders().length === 1), 'another has it')
    t.ok(Date.now() - given < TTL, `after ${Date.now() - given} ms`)
    const other = opened[0].lease('another name', TTL)
    t.ok(await until(() => other.held()), 'names are apart')
    await Promise.all([...leases, other].map(({ close }) => close()))
    await Promise.all(opened.map(({ close }) => close()))
  },
)

await t.test(
  'a holder out of reach ends by itself before another begins, and waits its turn afterwards',
  { skip },
  async (t) => {
    const { open } = database(server!.url)
    const [one, two] = await Promise.all([open(), open()])
    const first = one.lease('follower', TTL)
    t.ok(await until(() => first.held()))
    const second = two.lease('follower', TTL)
    // Closing its connections is what the loss of its network is to the holder.
    await one.close()
    let overlap = false
    const taken = await until(() => {
      overlap ||= first.held() && second.held()
      return second.held()
    })
    t.ok(taken)
    t.notOk(overlap)
    t.notOk(first.held())
    await first.close()
    await second.close()
    await two.close()
  },
)

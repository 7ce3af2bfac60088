import { randomUUID } from 'node:crypto'
import { openStores } from '../src/app/stores/stores.ts'
import { systemClock } from '../src/base/clock.ts'
import { enveloper } from '../src/commands/envelope.ts'
import { executor } from '../src/commands/execute.ts'
import { flag } from '../src/commands/flag/flag.ts'
import type { Config } from '../src/config/load.ts'
import type { EventLog, NewEvent, Stored } from '../src/events/log.ts'
import { sealer } from '../src/events/personal.ts'
import { tokenIssued } from './log-store.ts'
import { seedFlags } from './seed.ts'

const AT_ONCE = 1000
const IN_ONE = 250
const context = { actor: { kind: 'system' } } as const

export type Sizes = {
  readonly flags: number
  /** Changes of each flag, and of the first. */
  readonly changes: number
  readonly most: number
  readonly tokens: number
}
/** Positions in the midst of the changes of the first flag, of those of all others, and of the tokens. */
export type Moments = { readonly one: bigint; readonly all: bigint; readonly tokens: bigint }

const last = async (log: EventLog, stream: string): Promise<Stored> => {
  let newest: Stored | undefined
  for await (const page of log.read(stream)) newest = page.at(-1) ?? newest
  return newest!
}

/** Changes a flag so many times as its own commands did twice, there and back; gives the position in the midst of them. */
const changed = async (log: EventLog, stream: string, [there, back]: readonly Stored[], times: number) => {
  let { revision } = back!
  let middle = 0n
  const copy = (n: number): NewEvent => {
    const { type, time, data, meta } = n % 2 === 0 ? there! : back!
    return { id: randomUUID(), type, time, data, meta }
  }
  for (let done = 0; done < times; ) {
    const events = Array.from({ length: Math.min(IN_ONE, times - done) }, (_, n) => copy(done + n))
    const appended = await log.append(stream, events, revision)
    revision = appended.revision
    if (done <= times / 2) middle = appended.positions.at(-1)!
    done += events.length
  }
  return middle
}

/** Fills a store with flags that were changed often and with tokens. */
export const fillPast = async (config: Config, { flags, changes, most, tokens }: Sizes): Promise<Moments> => {
  await seedFlags(config, flags)
  const stores = await openStores(config, systemClock, { onError: (_, error) => console.error(error) })
  const { log } = stores
  const { execute } = executor(
    log,
    enveloper(sealer(stores.keys), 'seed', () => new Date()),
    { clock: systemClock },
  )
  try {
    const { data } = await last(log, 'flag-default+flag-0')
    const { incarnation } = JSON.parse(data) as { readonly incarnation: string }
    const moments: bigint[] = []
    for (let n = 0; n < flags; n++) {
      const key = `flag-${n}`
      const to = async (name: string) => {
        const of = { namespace: 'default', key, incarnation, name, description: '', enabled: false }
        const { stored } = await execute(flag, `default+${key}`, 'UpdateFlag', of, context)
        return stored.at(-1)!
      }
      const both = [await to('there'), await to(key)]
      moments.push(await changed(log, `flag-default+${key}`, both, (n === 0 ? most : changes) - 2))
    }
    const ofTokens: bigint[] = []
    for (let n = 0; n < tokens; n += AT_ONCE) {
      const ids = Array.from({ length: Math.min(AT_ONCE, tokens - n) }, () => randomUUID())
      const made = await Promise.all(ids.map((id) => log.append(`token-${id}`, [tokenIssued(id)], 'none')))
      ofTokens.push(made[0]!.positions[0]!)
    }
    const middle = (all: readonly bigint[]) => all[Math.floor(all.length / 2)]!
    return { one: moments[0]!, all: middle(moments), tokens: middle(ofTokens) }
  } finally {
    await stores.close()
  }
}

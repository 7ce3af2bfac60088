import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { administering, settings, worldOf } from '../test/http/together-world.ts'
import { watchedService } from '../test/http/watching.ts'
import { type Load, p99AtRate } from './load.ts'
import { progress, type Row, row } from './measure.ts'

const SECONDS = Number(process.env['ROLLCALL_BENCH_SECONDS'] ?? 120)
const CLIENTS = 8
/** Evaluations a second, of all clients together. */
const RATE = 400
/** Milliseconds after which rate limits have forgotten the networks of the minute before. */
const SETTLES_MS = 60_000
/** Milliseconds after which the clients are connected. */
const CONNECTED_MS = 1_000
const script = join(import.meta.dirname, '../test/http/heap-watched.js')
const attackers = join(import.meta.dirname, 'together-attackers.js')

/** T1: what evaluations take while every attack is made at once, in a process with a heap of 512 MB, against those of a quiet one; and its heap after that against before. */
export const run = async (): Promise<readonly Row[]> => {
  progress(`T1: ${SECONDS} s of all attacks at once`)
  const service = await watchedService(script, ['--max-old-space-size=512', '--expose-gc'], settings)
  try {
    const world = await worldOf(service)
    const evaluations: Load = {
      url: `${service.url}/evaluate/v1/boolean`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      tokens: [world.honest],
      bodies: Array.from({ length: CLIENTS }, (_, n) => JSON.stringify({ flagKey: `flag-${n}`, entityId: `e${n}` })),
      connections: CLIENTS,
      inThread: true,
    }
    const p99 = (seconds: number) => p99AtRate(evaluations, RATE, seconds)
    const attacked = async (seconds: number) => {
      const { request: _, ...known } = world
      const child = fork(attackers, [JSON.stringify(known), String(seconds)])
      const [code] = (await once(child, 'exit')) as [number]
      if (code !== 0) throw new Error('the attackers failed')
    }
    const until = (seconds: number) => {
      const end = performance.now() + seconds * 1000
      return () => performance.now() >= end
    }
    // Caches that are bounded fill before.
    await attacked(SECONDS / 6)
    await pause(SETTLES_MS)
    await p99(SECONDS / 12)
    const quiet = await p99(SECONDS / 12)
    const before = await service.figure()
    const isOver = until(SECONDS)
    const evaluated = p99(SECONDS)
    // The clients are connected before the attack begins.
    await pause(CONNECTED_MS)
    const [{ wrong, rounds }, attackedP99] = await Promise.all([
      administering(world, isOver),
      evaluated,
      attacked(SECONDS),
    ])
    if (wrong.length > 0 || service.hasEnded()) throw new Error(`of the administrator: ${wrong.slice(0, 3).join(', ')}`)
    await pause(SETTLES_MS)
    const after = await service.figure()
    return [
      row(
        'T1',
        `p99 of ${RATE} evaluations a second under attack / in peace; ${rounds} rounds of an administrator`,
        attackedP99 / quiet,
        { atMost: 5 },
        '',
        `${attackedP99.toFixed(1)} ms against ${quiet.toFixed(1)} ms`,
      ),
      row('T1', 'bytes of heap after the attack / before', after / before, { atMost: 1.1 }, ''),
    ]
  } finally {
    await service.close()
  }
}

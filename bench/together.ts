import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { administering, attacks, evaluating, worldOf } from '../test/http/together-world.ts'
import { watchedService } from '../test/http/watching.ts'
import { progress, quantile, type Row, row } from './measure.ts'

const SECONDS = Number(process.env['ROLLCALL_BENCH_SECONDS'] ?? 120)
const CLIENTS = 8
const SETTLES_MS = 5_000
const script = join(import.meta.dirname, '../test/http/heap-watched.js')

/** T1: what evaluations take while every attack is made at once, in a process with a heap of 512 MB, against those of a quiet one; and its heap after that against before. */
export const run = async (): Promise<readonly Row[]> => {
  progress(`T1: ${SECONDS} s of all attacks at once`)
  const service = await watchedService(script, ['--max-old-space-size=512', '--expose-gc'], {
    'rate_limit.enabled': 'false',
  })
  try {
    const world = await worldOf(service)
    const measured = async (isOver: () => boolean) => {
      const times: number[] = []
      const timed: typeof world.request = async (...asked) => {
        const began = performance.now()
        const answer = await world.request<never>(...asked)
        times.push(performance.now() - began)
        return answer
      }
      const clients = Array.from({ length: CLIENTS }, () => evaluating({ ...world, request: timed }, isOver))
      const statuses = (await Promise.all(clients)).flat()
      return { times, failed: statuses.filter((status) => status !== 200).length }
    }
    const until = (seconds: number) => {
      const end = performance.now() + seconds * 1000
      return () => performance.now() >= end
    }
    await measured(until(SECONDS / 12))
    const quiet = await measured(until(SECONDS / 12))
    const before = await service.figure()
    const isOver = until(SECONDS)
    const attacked = Object.values(attacks(world)).map(async (attack) => {
      for (let n = 0; !isOver(); n++) {
        const held = await attack(n)
        await pause(held.length === 0 ? 0 : 1000)
        for (const socket of held) socket.destroy()
      }
    })
    const administrator = administering(world, isOver)
    const { times, failed } = await measured(isOver)
    await Promise.all(attacked)
    const { wrong, rounds } = await administrator
    if (failed > 0 || wrong.length > 0 || service.hasEnded())
      throw new Error(`${failed} evaluations failed; of the administrator: ${wrong.slice(0, 3).join(', ')}`)
    await pause(SETTLES_MS)
    const after = await service.figure()
    const [slow, fast] = [quantile(times, 0.99), quantile(quiet.times, 0.99)]
    return [
      row(
        'T1',
        `p99 of ${times.length} evaluations under attack / of ${quiet.times.length} in peace; ${rounds} rounds of an administrator`,
        slow / fast,
        { atMost: 5 },
        '',
        `${slow.toFixed(1)} ms against ${fast.toFixed(1)} ms`,
      ),
      row('T1', 'bytes of heap after the attack / before', after / before, { atMost: 1.1 }, ''),
    ]
  } finally {
    await service.close()
  }
}

import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { measureAppends, writers } from './log-append.ts'
import { newStore } from './log-store.ts'
import { progress, type Row, row } from './measure.ts'

const exec = promisify(execFile)
const SELF = fileURLToPath(import.meta.url)
const SOURCE = fileURLToPath(new URL('../../bench/slow-sync.c', import.meta.url))

/** Delay of the event loop, 99th percentile in milliseconds, while 64 writers append; the monitor's own interval of 1 ms is in it. */
const delayWhileAppending = async (): Promise<number> => {
  const store = await newStore()
  try {
    await writers(store.log, 64)(performance.now() + 1500)
    const monitor = monitorEventLoopDelay({ resolution: 1 })
    monitor.enable()
    await writers(store.log, 64)(performance.now() + 3000)
    monitor.disable()
    return monitor.percentile(99) / 1e6
  } finally {
    await store.done()
  }
}

/** In a process of its own, under the slowed sync: one figure on stdout. */
const measures: Readonly<Record<string, () => Promise<number>>> = {
  gain: async () => {
    const { disk, many } = await measureAppends(3)
    return many / disk
  },
  delay: delayWhileAppending,
}

const slowed = async (shim: string, microseconds: number, measure: string): Promise<number> => {
  const env = { ...process.env, LD_PRELOAD: shim, SLOW_SYNC_US: String(microseconds) }
  const { stdout } = await exec(process.execPath, [SELF, measure], { env, timeout: 120_000 })
  return Number(stdout)
}

/** B6 on a disk whose sync takes 1 ms, and B8 on one where it takes 5 ms. Needs Linux and gcc. */
export const run = async (): Promise<readonly Row[]> => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-slow-'))
  const shim = join(directory, 'slow-sync.so')
  try {
    await exec('gcc', ['-shared', '-fPIC', '-O1', '-o', shim, SOURCE, '-ldl'])
    progress('B6s: appends with syncs of 1 ms')
    const gain = await slowed(shim, 1000, 'gain')
    progress('B8: delay of the event loop with syncs of 5 ms')
    const delay = await slowed(shim, 5000, 'delay')
    return [
      row('B6s', '64 concurrent appends / write + fdatasync, a sync slowed to 1 ms', gain, { atLeast: 24 }),
      row('B8', 'event-loop delay p99 while appending, a sync slowed to 5 ms', delay, { atMost: 3 }, ' ms'),
    ]
  } finally {
    await rm(directory, { recursive: true })
  }
}

if (process.argv[1] === SELF) process.stdout.write(String(await measures[process.argv[2] ?? '']?.()))

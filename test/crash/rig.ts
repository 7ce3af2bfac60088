import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { systemClock } from '../../src/clock.ts'
import type { Stored } from '../../src/events/log.ts'
import { project } from '../../src/projections/projection.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import type { Row } from '../../src/projections/views.ts'
import { eventually } from '../wait.ts'

export const CHILD = fileURLToPath(new URL('./child.js', import.meta.url))
/** Rounds of the kill and power-loss loops; more of them by ROLLCALL_CRASH_ROUNDS. */
export const rounds = (usual: number): number => Number(process.env['ROLLCALL_CRASH_ROUNDS'] ?? usual)
export const run = promisify(execFile)

/** True when a command of the system can be run at all. */
export const has = (command: string): Promise<boolean> =>
  run('sh', ['-c', `command -v ${command}`]).then(
    () => true,
    () => false,
  )

/** True when strace may trace here. */
export const canTrace = async (): Promise<boolean> =>
  (await has('strace')) && (await run('strace', ['-o', '/dev/null', 'true']).then(Boolean, () => false))

/** Numbers at random, by a seed that is told; ROLLCALL_CRASH_SEED gives that of a run before. */
export const draws = (t: Pick<Test, 'comment'>): ((from: number, below: number) => number) => {
  const seed = Number(process.env['ROLLCALL_CRASH_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  t.comment(`drawn by ROLLCALL_CRASH_SEED=${seed}`)
  let state = seed
  return (from, below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return from + (((mixed ^ (mixed >>> 14)) >>> 0) % (below - from))
  }
}

/** What a writer asks of the system for its files. A call of this kind is a moment at which it may end. */
export type Call = 'fsync,fdatasync' | 'pwrite64'
/** The signal that comes when the process asks for such a call for the n-th time. */
export type Moment = { readonly call: Call; readonly n: number; readonly signal: 'KILL' | 'STOP' }

export type Acked = ReadonlyMap<string, { readonly stream: string; readonly revision: bigint }>

/** A running child and what it has said so far. */
export const startChild = (args: readonly string[], command: string = process.execPath) => {
  const child: ChildProcess = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const lines: string[] = []
  let rest = ''
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    lines.push(...parts)
  })
  const closed = once(child, 'close')
  /** Waits until it is so, or the process is over. */
  const until = async (enough: () => boolean, what: string) => {
    await eventually(() => enough() || child.exitCode !== null || child.signalCode !== null, what)
  }
  /** The process that writes, which is not the one started when that is a tracer. */
  const pid = () => Number(lines.find((line) => line.startsWith('pid '))?.slice(4) ?? child.pid)
  const kill = async () => {
    process.kill(pid(), 'SIGKILL')
    await closed
  }
  const count = (what: string) => lines.filter((line) => line.startsWith(what)).length
  const acked = (): Acked => {
    const said = lines.map((line) => line.split(' ')).filter(([what]) => what === 'ack')
    return new Map(said.map(([, stream = '', revision = '', id = '']) => [id, { stream, revision: BigInt(revision) }]))
  }
  return { child, lines, count, until, kill, acked, pid, closed }
}

/** A writer that gets a signal at a moment of its own, counted by strace. */
export const startUntil = ({ call, n, signal }: Moment, args: readonly string[]) => {
  const inject = ['-e', `trace=${call}`, '-e', `inject=${call}:signal=${signal}:when=${n}`]
  return startChild(['-f', '-qq', '-o', '/dev/null', ...inject, process.execPath, CHILD, ...args], 'strace')
}

/** Waits until a process that was told to stop stands still, all its threads included. */
export const standsStill = async (pid: number): Promise<void> => {
  await eventually(async () => {
    const threads = await readdir(`/proc/${pid}/task`)
    const states = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8')))
    return states.every((state) => /\) [Tt] /.test(state))
  }, 'the process to stand still')
}

/** Opens what the crash left: how many acknowledged events are gone, whether every stream is whole, and whether the caught-up view equals a rebuild. */
export const inspect = async (directory: string, acked: Acked) => {
  const store = await openEmbedded(directory, {
    clock: systemClock,
    kek: new Uint8Array(32),
    onError: (_, error) => {
      throw error
    },
  })
  const { log, views } = store
  try {
    const found = new Map<string, Stored>()
    const next = new Map<string, bigint>()
    const rebuilt = new Map<string, Row<TokenDoc>>()
    let [torn, before] = [0, 0n]
    for await (const page of log.readAll(0n)) {
      for (const event of page) {
        const { stream, revision, position } = event
        if (revision !== (next.get(stream) ?? 0n) || position <= before) torn++
        next.set(stream, revision + 1n)
        before = position
        found.set(event.id, event)
        const row = project(tokens, rebuilt.get(stream), event)
        rebuilt.set(stream, row)
        const there = await views.get<TokenDoc>(tokens, row.key)
        if ((there?.revision ?? -1n) === revision - 1n) await views.put(tokens, [project(tokens, there, event)])
      }
    }
    const lost = [...acked].filter(
      ([id, { stream, revision }]) => found.get(id)?.stream !== stream || found.get(id)?.revision !== revision,
    )
    let [differing, rows] = [0, 0]
    for await (const page of views.scan<TokenDoc>(tokens)) {
      rows += page.length
      for (const row of page) if (!same(row, rebuilt.get(`token-${row.key}`))) differing++
    }
    return {
      events: found.size,
      lost: lost.length,
      torn,
      differing: differing + Math.abs(rebuilt.size - rows),
    }
  } finally {
    await store.close()
  }
}

const text = (row: Row | undefined) =>
  JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
const same = (a: Row | undefined, b: Row | undefined) => text(a) === text(b)

/** Leaves a test out, and says why where everybody sees it. */
export const leaveOut = (t: Test, reason: string): void => {
  t.comment(`not run: ${reason}`)
  t.pass(`not run: ${reason}`, { skip: reason })
}

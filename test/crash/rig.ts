import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Stored } from '../../src/events/log.ts'
import { project } from '../../src/projections/projection.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import type { Row } from '../../src/projections/views.ts'
import { eventually } from '../wait.ts'

export const CHILD = fileURLToPath(new URL('./child.js', import.meta.url))
/** Rounds of the kill and power-loss loops, overridden by ROLLCALL_CRASH_ROUNDS. */
export const rounds = (usual: number): number => Number(process.env['ROLLCALL_CRASH_ROUNDS'] ?? usual)
export const run = promisify(execFile)

/** Whether a command is available. */
export const has = (command: string): Promise<boolean> =>
  run('sh', ['-c', `command -v ${command}`]).then(
    () => true,
    () => false,
  )

/** Reason to skip a test without strace. */
export const NO_STRACE = 'needs strace that may trace (Debian: apt-get install strace)'
/** Whether strace works here. */
export const canTrace = async (): Promise<boolean> =>
  (await has('strace')) && (await run('strace', ['-o', '/dev/null', 'true']).then(Boolean, () => false))

/** System calls of a writer at which it may be stopped. */
export type Call = 'fsync,fdatasync' | 'pwrite64'
/** Signal at the n-th system call of a kind. */
export type Moment = { readonly call: Call; readonly n: number; readonly signal: 'KILL' | 'STOP' }

export type Acked = ReadonlyMap<string, { readonly stream: string; readonly revision: bigint }>

/** Starts a child process and collects its output. */
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
  /** Waits for a condition or the end of the process. */
  const until = async (enough: () => boolean, what: string) => {
    await eventually(() => enough() || child.exitCode !== null || child.signalCode !== null, what)
  }
  /** Id of the writing process, which differs from the started one under a tracer. */
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

/** Starts a writer under strace that receives a signal at a moment. */
export const startUntil = ({ call, n, signal }: Moment, args: readonly string[]) => {
  const inject = ['-e', `trace=${call}`, '-e', `inject=${call}:signal=${signal}:when=${n}`]
  return startChild(['-f', '-qq', '-o', '/dev/null', ...inject, process.execPath, CHILD, ...args], 'strace')
}

/** Waits until all threads of a stopped process stand still. */
export const standsStill = async (pid: number): Promise<void> => {
  await eventually(async () => {
    const threads = await readdir(`/proc/${pid}/task`)
    const states = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8')))
    return states.every((state) => /\) [Tt] /.test(state))
  }, 'the process to stand still')
}

/**
 * Opens the store after the crash: counts lost acknowledged events and checks that streams are whole and the caught-up
 * view equals a rebuild.
 */
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

/** Skips a test with a visible reason. */
export const leaveOut = (t: Test, reason: string): void => {
  t.comment(`not run: ${reason}`)
  t.pass(`not run: ${reason}`, { skip: reason })
}

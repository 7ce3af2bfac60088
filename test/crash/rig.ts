import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { systemClock } from '../../src/clock.ts'
import type { Stored } from '../../src/events/log.ts'
import { project } from '../../src/projections/projection.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'
import type { Row } from '../../src/projections/views.ts'

export const CHILD = fileURLToPath(new URL('./child.js', import.meta.url))
/** Rounds of the kill and power-loss loops; more of them by ROLLCALL_CRASH_ROUNDS. */
export const rounds = (usual: number): number => Number(process.env['ROLLCALL_CRASH_ROUNDS'] ?? usual)
export const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
export const run = promisify(execFile)

/** True when a command of the system can be run at all. */
export const has = (command: string): Promise<boolean> =>
  run('sh', ['-c', `command -v ${command}`]).then(
    () => true,
    () => false,
  )

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
  const until = async (enough: () => boolean, ms = 120_000) => {
    for (const end = Date.now() + ms; !enough() && child.exitCode === null && Date.now() < end; ) await sleep(2)
  }
  /** The process that writes, which is not the one started when that is a tracer. */
  const kill = async () => {
    const pid = Number(lines.find((line) => line.startsWith('pid '))?.slice(4) ?? child.pid)
    process.kill(pid, 'SIGKILL')
    await closed
  }
  const count = (what: string) => lines.filter((line) => line.startsWith(what)).length
  const acked = (): Acked => {
    const said = lines.map((line) => line.split(' ')).filter(([what]) => what === 'ack')
    return new Map(said.map(([, stream = '', revision = '', id = '']) => [id, { stream, revision: BigInt(revision) }]))
  }
  return { child, lines, count, until, kill, acked }
}

/** Stops a process and waits until it stands still, all its threads included. */
export const freeze = async (child: ChildProcess): Promise<void> => {
  child.kill('SIGSTOP')
  for (let n = 0; n < 500; n++) {
    if (/\) [Tt] /.test(await readFile(`/proc/${child.pid}/stat`, 'utf8'))) return
    await sleep(1)
  }
}

/** Opens what the crash left: how many acknowledged events are gone, whether every stream is whole, and whether the caught-up view equals a rebuild. */
export const inspect = async (directory: string, acked: Acked) => {
  const started = Date.now()
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
      recoveryMs: Date.now() - started,
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

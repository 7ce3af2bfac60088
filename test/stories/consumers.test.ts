import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { rollcall } from '../cli/service.ts'
import { clusterOf, onCluster, writeConfig } from '../cluster/own.ts'
import { has, rounds } from '../crash/rig.ts'
import { draws } from '../draws.ts'
import { freePort } from '../free-port.ts'
import { startService } from '../start.ts'
import { eventually } from '../wait.ts'

const guide = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/consuming.md'), 'utf8')
const programIn = (language: string) => new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms').exec(guide)![1]!
const CONSUMERS = {
  ts: { program: programIn('ts'), command: [process.execPath] },
  py: { program: programIn('python'), command: ['python3'] },
} as const

type Count = { readonly day: string; readonly type: string; readonly events: number }

/** A consumer of the guide that can be killed and started again. Its cursor is -1 before the first event. */
const consumerOf = (t: Test, command: readonly string[], file: string, env: Readonly<Record<string, string>>) => {
  let errors = ''
  const begin = () => {
    const started = spawn(command[0]!, command.slice(1), {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    started.stderr.on('data', (data: Buffer) => (errors += String(data)))
    return started
  }
  let child = begin()
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'close')
    child.kill('SIGKILL')
    await ended
  }
  t.teardown(kill)
  const read = async <T>(sql: string): Promise<readonly T[]> => {
    const database = await openDatabase(file, 'read').catch(() => undefined)
    try {
      return ((database?.prepare(sql).all() ?? []) as readonly T[]).map((row) => ({ ...row }))
    } catch {
      // The consumer has not created its tables.
      return []
    } finally {
      database?.close()
    }
  }
  const cursor = async () => (await read<{ last: number }>('select last from cursor'))[0]?.last ?? -1
  return {
    cursor,
    reaches: (index: number) =>
      eventually(async () => {
        if (child.exitCode !== null) throw new Error(`the consumer ended with ${child.exitCode}: ${errors}`)
        return (await cursor()) >= index
      }, `a consumer at event ${index}`),
    killed: async () => {
      await kill()
      child = begin()
    },
    end: async () => {
      await kill()
      return { last: await cursor(), counts: await read<Count>('select * from counts order by day, type') }
    },
  }
}

/** Counts of the events of an export in NDJSON up to an index. */
const countsOf = (ndjson: string, last: number): readonly Count[] => {
  const counts = new Map<string, number>()
  for (const line of ndjson.trimEnd().split('\n')) {
    const { index, time, type } = JSON.parse(line) as { index: number; time: string; type: string }
    const key = `${time.slice(0, 10)} ${type.replace(/\.v\d+$/, '')}`
    if (index <= last) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, events]) => ({ day: key.split(' ')[0]!, type: key.split(' ')[1]!, events }))
}

/** Configuration file of the servers of a directory. */
const serversFile = async (directory: string): Promise<string> => {
  const file = join(directory, 'servers.json')
  await writeConfig(file, await clusterOf(directory))
  return file
}

const runsTypeScript = Boolean((process.features as { readonly typescript?: unknown }).typescript)
const missing = runsTypeScript
  ? !(await has('python3')) && 'needs python3 (Debian: apt-get install python3)'
  : 'needs a Node.js that runs TypeScript'

await t.test(
  'the consumers of the guide count each event once through kills, a restart and a move',
  { skip: missing },
  async (t) => {
    const draw = draws(t)
    const port = String(await freePort())
    const fixed = { 'server.http_port': port, 'log.level': 'ERROR' }
    const first = await startService(t, { ...fixed, 'storage.type': 'embedded' })
    const { directory, token } = first
    const folder = await newDirectory(t)
    const consumers = await Promise.all(
      Object.entries(CONSUMERS).map(async ([end, { program, command }]) => {
        const [source, file] = [join(folder, `consumer.${end}`), join(folder, `${end}.sqlite`)]
        await writeFile(source, program)
        return consumerOf(t, [...command, source, `http://127.0.0.1:${port}`, file], file, { ROLLCALL_TOKEN: token })
      }),
    )
    let names = 0
    const killAt = async (service: typeof first, kills: number) => {
      for (let n = 0; n < kills; n++) {
        const behind = await Promise.all(consumers.map(({ cursor }) => cursor()))
        const events = draw(1, 8)
        for (let m = 0; m < events; m++) await service.request('POST', '/auth/v1/method/token', { name: `n${names++}` })
        const chosen = draw(0, consumers.length)
        await consumers[chosen]!.reaches(behind[chosen]! + draw(0, events + 1))
        await consumers[chosen]!.killed()
      }
    }
    const kills = rounds(4)
    await killAt(first, Math.floor(kills / 2))
    await first.reopen()
    await first.close()

    const target = await newDirectory(t)
    const to = onCluster ? ['cluster', '--config', await serversFile(target)] : [join(target, 'data')]
    const moved = await rollcall(['migrate', '--from', join(directory, 'data'), '--to', ...to, '--yes'])
    t.match(moved, { exit: 0 })
    const second = await startService(t, fixed, { directory: target })
    await killAt(second, Math.ceil(kills / 2))
    const { json } = await second.request<{ head: { index: number } }>('GET', '/audit/v1/events?limit=1')
    for (const { reaches } of consumers) await reaches(json.head.index)
    const ended = await Promise.all(consumers.map(({ end }) => end()))
    const { text } = await second.request('GET', '/audit/v1/events?format=ndjson')
    for (const { last, counts } of ended) t.strictSame(counts, countsOf(text, last), `the table until event ${last}`)
  },
)

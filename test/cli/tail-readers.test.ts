import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'
import { randomOf } from '../history/event-log.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'

const N = '/api/v1/namespaces/default'
const main = resolve(import.meta.dirname, '../../src/main.js')
const ROUNDS = Number(process.env['ROLLCALL_TEST_READER_KILLS'] ?? 4)

/** Appends the index of each line to a file, and kills its own process at a line. */
const READER = `const [file, lines] = process.argv.slice(1)
let [rest, left] = ['', Number(lines)]
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const whole = (rest + chunk).split('\\n')
  rest = whole.pop()
  for (const line of whole) {
    if (left-- === 0) process.kill(process.pid, 'SIGKILL')
    require('node:fs').appendFileSync(file, JSON.parse(line).index + '\\n')
  }
})`

const written = async ({ request }: Started, count: number): Promise<void> => {
  for (let n = 0; n < count; n++) {
    const body = { key: crypto.randomUUID(), name: 'f', description: 'd'.repeat(2_000) }
    await request('POST', `${N}/flags`, body)
  }
}

const headOf = async ({ request }: Started): Promise<number> =>
  (await request<{ readonly head: { readonly index: number } }>('GET', '/audit/v1/events?limit=1')).json.head.index

await t.test('events tail prints again what a killed reader may have lost', async (t) => {
  const seed = Number(process.env['ROLLCALL_TEST_SEED'] ?? Date.now() % 1_000_000)
  t.comment(`seed ${seed}: set ROLLCALL_TEST_SEED to repeat`)
  const { below } = randomOf(seed)
  const service = await startService(t)
  const directory = t.testdir()
  const [pipe, cursor, taken] = ['pipe', 'cursor', 'taken'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  spawnSync('mkfifo', [pipe])
  const env = { PATH: process.env['PATH'], ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  const shell = (command: string, ...args: readonly string[]): ChildProcess =>
    spawn('sh', ['-c', `exec "$@" ${command}`, 'sh', process.execPath, ...args], { env, stdio: 'ignore' })
  const begun = (lines: number) => ({
    tail: shell(`> ${pipe}`, main, 'events', 'tail', '-f', '--from', '@0', '--format', 'ndjson', '--cursor', cursor),
    reader: shell(`< ${pipe}`, '-e', READER, taken, String(lines)),
  })
  const indexes = async (): Promise<ReadonlySet<number>> =>
    new Set((await readFile(taken, 'utf8').catch(() => '')).split('\n').slice(0, -1).map(Number))

  await written(service, 200)
  for (let round = 0; round < ROUNDS; round++) {
    const { tail, reader } = begun(below(60))
    const [readerEnd, tailEnd] = [once(reader, 'exit'), once(tail, 'exit')]
    await written(service, 15)
    const [, signal] = (await readerEnd) as [number | null, string | null]
    t.equal(signal, 'SIGKILL')
    if (round % 2 === 0) tail.kill('SIGKILL')
    else await eventually(async () => (await written(service, 1), tail.exitCode !== null), 'the end of the command')
    await tailEnd
  }
  const head = await headOf(service)
  const { tail, reader } = begun(-1)
  const end = once(tail, 'exit')
  await eventually(async () => (await indexes()).has(head), 'the last event')
  tail.kill('SIGKILL')
  await Promise.all([end, once(reader, 'exit')])
  const all = await indexes()
  const lost = Array.from({ length: head + 1 }, (_, index) => index).filter((index) => !all.has(index))
  t.strictSame(lost, [], `${head} events and ${ROUNDS} killed readers`)
})

await t.test('a reader of a file gets each event once', async (t) => {
  const service = await startService(t)
  const directory = t.testdir()
  const [out, cursor] = [join(directory, 'out'), join(directory, 'cursor')]
  const env = { PATH: process.env['PATH'], ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  for (let run = 0; run < 2; run++) {
    await written(service, 2)
    const args = [main, 'events', 'tail', '--from', '@0', '--format', 'ndjson', '--cursor', cursor]
    const child = spawn('sh', ['-c', `exec "$@" >> ${out}`, 'sh', process.execPath, ...args], { env, stdio: 'ignore' })
    t.strictSame(await once(child, 'exit'), [0, null])
  }
  const lines = (await readFile(out, 'utf8')).split('\n').slice(0, -1)
  t.strictSame(
    lines.map((line) => (JSON.parse(line) as { readonly index: number }).index),
    lines.map((_, n) => n),
  )
})

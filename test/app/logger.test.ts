import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { constants, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { newDirectory } from '../adapters/embedded/store.ts'

const module = resolve(import.meta.dirname, '../../src/app/telemetry/logger.js')
const HANGS_MS = 120_000

/**
 * Starts a process that runs a script with a logger of these settings. Its clock writes each wait to standard error and
 * ends it at once.
 */
const processOf = (settings: object, text: string, out: 'ignore' | 'pipe' | number = 'ignore'): ChildProcess => {
  const script = `const { loggerOf } = await import('${module}')
    const after = (ms, work) => {
      process.stderr.write(' waits ' + ms + ' ms')
      return { cancel: clearImmediate.bind(null, setImmediate(work)) }
    }
    const clock = { now: () => new Date(), after }
    const { logger: log, flushed } = loggerOf(${JSON.stringify({ level: 'INFO', ...settings })}, clock)
    ${text}`
  return spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['pipe', out, 'pipe'],
    timeout: HANGS_MS,
    killSignal: 'SIGKILL',
  })
}
const errors = (child: ChildProcess) => {
  let told = ''
  child.stderr!.setEncoding('utf8').on('data', (chunk: string) => (told += chunk))
  return () => told
}

for (const encoding of ['json', 'console']) {
  await t.test(`a log that cannot be written is reported once, and the service continues: ${encoding}`, async (t) => {
    const lines = 'for (let n = 0; n < 1000; n++) log.error({ err: new Error(String(n)) }, "x".repeat(10_000))'
    const child = processOf({ encoding, file: '/dev/full' }, lines)
    const told = errors(child)
    t.equal((await once(child, 'close'))[0], 0)
    t.equal(told(), 'error: the log cannot be written: ENOSPC: no space left on device, write\n')
  })
}

for (const encoding of ['json', 'console']) {
  await t.test(`a client token in a log line is replaced: ${encoding}`, async (t) => {
    const file = join(await newDirectory(t), 'service.log')
    const [token, first] = ['rcs_', 'rcb_'].map((prefix) => prefix + '0'.repeat(49))
    const lines = `log.warn({ why: 'x${token}y', err: new Error('${token}') }, '${token}')
      log.info({ client_token: '${first}' }, 'created')`
    t.equal((await once(processOf({ encoding, file }, lines), 'close'))[0], 0)
    const text = await readFile(file, 'utf8')
    t.notOk(text.includes(token!))
    t.match(text, /x\[client token\]y/)
    t.match(text, first!, 'the first token is shown')
  })
}

const fifo = async (t: Test) => {
  const path = join(await newDirectory(t), 'log.pipe')
  t.equal(spawnSync('mkfifo', [path]).status, 0)
  return path
}
const LINES = 1000
/** Writes more than the buffer holds, reports the end on standard error, and exits when its input ends. */
const flood = `for (let n = 0; n < ${LINES}; n++) log.info({ n }, 'x'.repeat(10_000))
  process.stderr.write('written')
  await new Promise((done) => process.stdin.once('end', done).resume())
  await flushed()`

/** Returns the lines of the output once it reports a loss. */
const read = async (out: NodeJS.ReadableStream, told: RegExp) => {
  let text = ''
  for await (const chunk of out) {
    text += String(chunk)
    if (told.test(text)) break
  }
  return text.split('\n').filter((line) => line !== '')
}

for (const encoding of ['json', 'console'])
  for (const place of ['standard output', 'a pipe as standard output', 'a pipe as log.file'])
    await t.test(
      `while no process reads the log, a limited number of lines is kept: ${place}, ${encoding}`,
      async (t) => {
        const path = place === 'standard output' ? undefined : await fifo(t)
        const end = path === undefined ? undefined : openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
        const file = place === 'a pipe as log.file' ? path : undefined
        const child = processOf({ encoding, file }, flood, file === undefined ? (end ?? 'pipe') : 'ignore')
        // Nothing reads until everything is written, because the process must not wait.
        await once(child.stderr!, 'data')
        const reader = path === undefined ? undefined : spawn('cat', [path], { stdio: ['ignore', 'pipe', 'ignore'] })
        t.teardown(() => reader?.kill())
        const lines = await read((reader ?? child).stdout!, /log lines were lost.*\n/)
        const [lost] = lines.splice(-1)
        const count = Number(/"?lines"?[:=](\d+)/.exec(lost!)?.[1])
        t.equal(lines.length + count, LINES, 'every line came or is counted')
        t.ok(lines.length * 10_000 < 4.3 * 1_048_576 && count > 500, `${lines.length} came`)
        t.match(lines[0], /"?n"?[:=]0\b/, 'the first ones came')
        t.match(lost, /ERROR/)
        child.stdin!.end()
        t.equal((await once(child, 'exit'))[0], 0)
      },
    )

await t.test('the exit of the service waits at most one second for the process that reads its log', async (t) => {
  const path = await fifo(t)
  const child = processOf({ encoding: 'json', file: path }, flood)
  const told = errors(child)
  await once(child.stderr!, 'data')
  child.stdin!.end()
  t.equal((await once(child, 'close'))[0], 0)
  t.equal(told(), 'written waits 1000 ms')
})

await t.test('if the process that reads the log closes it, that is reported once', async (t) => {
  const child = processOf(
    { encoding: 'json' },
    `process.stdin.once('end', () => {
      for (let n = 0; n < ${LINES}; n++) setImmediate(() => log.info('x'.repeat(1000)))
    }).resume()`,
    'pipe',
  )
  const told = errors(child)
  child.stdout!.destroy()
  child.stdin!.end()
  t.equal((await once(child, 'close'))[0], 0)
  t.match(told(), /^error: the log cannot be written: write EPIPE\n$/)
})

import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import t from 'tap'

const module = resolve(import.meta.dirname, '../src/app/logger.js')

/** Runs a text in a process of its own, with a logger that writes to `/dev/full`. */
const onFullDisk = async (encoding: string, text: string) => {
  const script = `const { loggerOf } = await import('${module}')
    const log = loggerOf({ level: 'INFO', encoding: '${encoding}', file: '/dev/full' }, { now: () => new Date() })
    ${text}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let told = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (told += chunk))
  const exit = await new Promise((done) => child.once('close', done))
  return { exit, told }
}

for (const encoding of ['json', 'console']) {
  await t.test(`a log that cannot be written is told once and stops nobody: ${encoding}`, async (t) => {
    const lines = 'for (let n = 0; n < 1000; n++) log.error({ err: new Error(String(n)) }, "x".repeat(10_000))'
    t.strictSame(await onFullDisk(encoding, lines), {
      exit: 0,
      told: 'error: the log cannot be written: ENOSPC: no space left on device, write\n',
    })
  })
}

import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { median, progress, type Row, row } from './measure.ts'

const ROUNDS = 7
const main = resolve(import.meta.dirname, '../src/main.js')

/** Milliseconds from the start of a process until a line of its output matches. The process is then ended. */
const until = (args: readonly string[], line: RegExp, env: NodeJS.ProcessEnv = {}): Promise<number> =>
  new Promise((done, fail) => {
    const start = performance.now()
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let took: number | undefined
    child.stdout.on('data', (data: Buffer) => {
      if (took !== undefined || !line.test(String(data))) return
      took = performance.now() - start
      child.kill()
    })
    child.on('exit', () => (took === undefined ? fail(new Error(`${args.join(' ')} ended early`)) : done(took)))
  })

/** B18: from the start of the process to listening on an empty store, against Node importing fastify only. */
export const run = async (): Promise<readonly Row[]> => {
  progress('B18: start to listening')
  const [ours, bare]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    const directory = await mkdtemp(join(tmpdir(), 'rollcall-start-'))
    const env = {
      ROLLCALL_STORAGE_DATA_DIR: directory,
      ROLLCALL_SERVER_HTTP_PORT: '0',
      ROLLCALL_SERVER_HOST: '127.0.0.1',
    }
    ours.push(await until([main, 'serve'], /is listening/, env))
    bare.push(await until(['--input-type=module', '-e', "await import('fastify'); console.log('ready')"], /ready/))
    await rm(directory, { recursive: true })
  }
  const [one, other] = [median(ours), median(bare)]
  const note = `${Math.round(one)} ms against ${Math.round(other)} ms`
  return [
    row('B18', 'start to listening, empty store / node importing fastify only', one / other, { atMost: 4 }, '', note),
  ]
}

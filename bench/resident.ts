import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openStores } from '../src/app/stores/stores.ts'
import { systemClock } from '../src/base/clock.ts'
import { loadConfig } from '../src/config/load.ts'
import { newStore, tokenIssued } from './log-store.ts'
import { progress, type Row, told } from './measure.ts'
import { seedFlags } from './seed.ts'

const TOKENS = (process.env['ROLLCALL_BENCH_RESIDENT'] ?? '40000,100000,400000,1000000').split(',').map(Number)
const FLAGS = Number(process.env['ROLLCALL_BENCH_FLAGS'] ?? 2000)
const AT_ONCE = 1000
const IDLE_MS = 10_000
const main = resolve(import.meta.dirname, '../src/main.js')

const MB = (kB: number) => `${Math.round(kB / 1000)} MB`

/** What a process holds in memory: its own, and of files that are mapped, in kB. */
const held = async (pid: number) => {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')
  const of = (name: string) => Number(new RegExp(`^${name}: +(\\d+) kB$`, 'm').exec(text)?.[1])
  const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1])
  return { own: of('Anonymous'), files: of('Rss') - of('Anonymous'), peak }
}

/** Starts the service on a directory, and says what it holds once it has listened and been idle for a while. */
const resident = async (directory: string) => {
  const env = {
    ROLLCALL_STORAGE_DATA_DIR: join(directory, 'data'),
    ROLLCALL_SERVER_HTTP_PORT: '0',
    ROLLCALL_SERVER_HOST: '127.0.0.1',
  }
  const child = spawn(process.execPath, [main, 'serve'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  let output = ''
  child.stdout.on('data', (data: Buffer) => (output += String(data)))
  while (!output.includes('is listening')) {
    if (child.exitCode !== null) throw new Error(`the service ended: ${output}`)
    await pause(50)
  }
  await pause(IDLE_MS)
  const found = await held(child.pid!)
  child.kill()
  await ended
  return found
}

const addTokens = async (directory: string, count: number) => {
  const env = { ROLLCALL_STORAGE_DATA_DIR: join(directory, 'data') }
  const store = await openStores(loadConfig({ env }).config, systemClock, {
    onError: (_, error) => progress(String(error)),
  })
  for (let n = 0; n < count; n += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - n) }, () => {
        const event = tokenIssued()
        const { id } = JSON.parse(event.data) as { readonly id: string }
        return store.log.append(`token-${id}`, [event], 'none')
      }),
    )
  await store.close()
}

const shown = (name: string, { own, files, peak }: Awaited<ReturnType<typeof held>>): Row => {
  const row = told('M1', name, `${MB(own)} + ${MB(files)}`, `${MB(peak)} at most`)
  progress(`${row.name}: ${row.figure}, ${row.note}`)
  return row
}

/** M1: what the idle service holds, its own memory and that of mapped files, with so many flags and with so many live tokens. */
export const run = async (): Promise<readonly Row[]> => {
  progress('M1: memory of the service')
  const store = await newStore()
  await store.close()
  const { directory } = store
  try {
    const rows = [shown('nothing but the bootstrap token', await resident(directory))]
    let there = 0
    for (const count of TOKENS) {
      await addTokens(directory, count - there)
      there = count
      rows.push(shown(`${count} tokens, the start that reads them from the log`, await resident(directory)))
      rows.push(shown(`${count} tokens, the next start`, await resident(directory)))
    }
    const flags = await newStore()
    await flags.close()
    const env = { ROLLCALL_STORAGE_DATA_DIR: join(flags.directory, 'data') }
    await seedFlags(loadConfig({ env }).config, FLAGS)
    rows.push(shown(`${FLAGS} flags, no tokens`, await resident(flags.directory)))
    await flags.done()
    return rows
  } finally {
    await store.done()
  }
}

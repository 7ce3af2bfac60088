import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../src/clock.ts'
import { run } from '../../src/cli/program.ts'
import type { Started } from '../start.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-transfer-'))
let files = 0

/** A file of its own with this content, for one verb. */
export const file = (content: string | Uint8Array, end = 'yml'): string => {
  const path = join(folder, `${files++}.${end}`)
  writeFileSync(path, content)
  return path
}

const load = (): never => {
  throw new Error('these verbs work through HTTP alone')
}

type Asked = Pick<Started, 'url' | 'token'>

/** Runs a verb in this process and by this clock against a service; gives the exit code and what was told on standard error. */
export const insideAt = async (clock: Clock, service: Asked, ...args: readonly string[]) => {
  const told: string[] = []
  const write = process.stderr.write.bind(process.stderr)
  const { env } = process
  process.env = { ...env, ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token }
  process.stderr.write = (text: string | Uint8Array) => told.push(String(text)) > 0
  try {
    const exit = await run(args, load, clock)
    return { exit, err: told.join('') }
  } finally {
    process.env = env
    process.stderr.write = write
    process.exitCode = undefined
  }
}

/** The same by the clock of the machine. */
export const inside = (service: Asked, ...args: readonly string[]) => insideAt(systemClock, service, ...args)

/** What an export writes. */
export const exported = async (service: Started, ...args: readonly string[]): Promise<string> => {
  const path = file('', 'out')
  const { exit, err } = await inside(service, 'export', '-o', path, ...args)
  if (exit !== 0) throw new Error(err)
  return readFileSync(path, 'utf8')
}

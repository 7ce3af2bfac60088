import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../src/clock.ts'
import type { Started } from '../start.ts'
import { rollcall } from './service.ts'

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

/** Runs a verb by this clock against a service. */
export const insideAt = (clock: Clock, { url, token }: Asked, ...args: readonly string[]) =>
  rollcall(args, { ROLLCALL_ADDRESS: url, ROLLCALL_TOKEN: token }, '', { clock, load })

/** The clock of the machine for who waits for an answer as long as it takes. */
const patient: Clock = { ...systemClock, timeout: () => new AbortController().signal }

/** The same, however long the answers take. */
export const inside = (service: Asked, ...args: readonly string[]) => insideAt(patient, service, ...args)

/** What an export writes. */
export const exported = async (service: Asked, ...args: readonly string[]): Promise<string> => {
  const { exit, out, err } = await inside(service, 'export', ...args)
  if (exit !== 0) throw new Error(err)
  return out
}

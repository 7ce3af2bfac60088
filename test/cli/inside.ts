import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { Started } from '../start.ts'
import { rollcall } from './service.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-transfer-'))
let files = 0

/** Creates a file with this content for one command. */
export const file = (content: string | Uint8Array, end = 'yml'): string => {
  const path = join(folder, `${files++}.${end}`)
  writeFileSync(path, content)
  return path
}

const load = (): never => {
  throw new Error('these verbs work through HTTP alone')
}

type Asked = Pick<Started, 'url' | 'token'>

/** Runs a command against a service with this clock. */
export const insideAt = (clock: Clock, { url, token }: Asked, ...args: readonly string[]) =>
  rollcall(args, { ROLLCALL_ADDRESS: url, ROLLCALL_TOKEN: token }, '', { clock, load })

/** The clock of the machine without timeouts of requests. */
const patient: Clock = { ...systemClock, timeout: () => new AbortController().signal }

/** Runs a command against a service without timeouts. */
export const inside = (service: Asked, ...args: readonly string[]) => insideAt(patient, service, ...args)

/** Output of an export. */
export const exported = async (service: Asked, ...args: readonly string[]): Promise<string> => {
  const { exit, out, err } = await inside(service, 'export', ...args)
  if (exit !== 0) throw new Error(err)
  return out
}

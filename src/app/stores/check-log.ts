import { join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import type { Config } from '../../config/load.ts'
import { catalog } from '../../events/catalog.ts'
import { reader } from '../../events/define.ts'
import type { Stored } from '../../events/log.ts'
import { eventsOf, existing } from './stores.ts'

/** A problem in the log. */
export type LogFinding = { readonly check: string; readonly where: string; readonly found: string }

const readers = new Map(Object.entries(catalog).map(([category, shapes]) => [category, reader(shapes)]))

/** Reason why an event cannot be read; undefined if it can be. */
const unreadable = ({ stream, type, data, meta }: Stored): string | undefined => {
  try {
    const read = readers.get(stream.slice(0, Math.max(0, stream.indexOf('-'))))
    if (!read) return 'the name of its stream begins with an unknown category'
    read(type, data)
    JSON.parse(meta)
    return undefined
  } catch (error) {
    return `it cannot be read (${type}): ${error instanceof Error ? error.name : 'unknown error'}`
  }
}

/** Objects of the other files of a data directory that are not of this version. */
const otherProblems = async (directory: string): Promise<readonly LogFinding[]> => {
  const { problemsIn } = await import('../../adapters/embedded/files/look.ts')
  const findings: LogFinding[] = []
  for (const name of ['subjects.sqlite', 'ledger.sqlite']) {
    const problems = await problemsIn(join(directory, name)).catch((error: unknown) => [messageOf(error)])
    findings.push(...problems.map((found) => ({ check: 'schema', where: name, found })))
  }
  return findings
}

/** Checks the log of a data directory, which a service may be using, read-only. Returns the number of events read. */
export const checkLog = async (config: Config) => {
  const file = existing(eventsOf(config))
  const { withCheckedLog } = await import('../../adapters/embedded/files/check.ts')
  const findings: LogFinding[] = []
  let events = 0
  await withCheckedLog(file, async (found, log) => {
    findings.push(...found)
    for await (const page of log?.readAll(0n) ?? [])
      for (const event of page) {
        events++
        const why = unreadable(event)
        if (why !== undefined) findings.push({ check: 'events', where: `position ${event.position}`, found: why })
      }
  })
  findings.push(...(await otherProblems(config.storage.data_dir)))
  return { events, findings }
}

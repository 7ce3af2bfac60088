import type { ComparedModels, ComparedRow } from '../../../app/offline/replay.ts'
import { fail } from '../../../base/failure.ts'
import type { Config } from '../../../config/load.ts'
import type { ReadModel, ReadModelRow } from '../../../contract/history/state.ts'
import { type Client, segment } from '../../client/client.ts'
import { embeddedConfig } from '../../offline/store-config.ts'
import { type CommandServices, clientOf, type TargetOptions } from '../../options.ts'
import { linesIn } from '../export/service-source.ts'

const broken = (): never => fail('failed', 'The service sent a line that is not a row of a read model.')

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return broken()
  }
}

const rowIn = (line: string): ComparedRow => {
  const { key, position, sha256 } = parsed(line) as ReadModelRow
  if (typeof key !== 'string' || typeof sha256 !== 'string' || !/^\d{1,19}$/.test(position)) broken()
  return { key, sha256, position: BigInt(position) }
}

/** Read models of a running service (api.md §16.19). */
const modelsOfService = (client: Client, stop: AbortSignal): ComparedModels => ({
  rows: async (name, version) => {
    const { body } = await client.open(`/audit/v1/read-models/${segment(name)}`, {}, stop)
    const pages = linesIn(body!)
    const first = await pages.next()
    const [head, ...rest] = first.done ? broken() : first.value
    if ((parsed(head ?? broken()) as ReadModel).version !== version) {
      await pages.return(undefined)
      return undefined
    }
    return (async function* () {
      yield rest.map(rowIn)
      for await (const lines of pages) yield lines.map(rowIn)
    })()
  },
})

/** The read models that `--compare` names: those of a service if it is an address, else those of a data directory. */
export const comparedModels = async (
  { compare, into, ...options }: TargetOptions & { readonly compare?: string; readonly into?: string },
  given: CommandServices,
  stop: AbortSignal,
): Promise<Config | ComparedModels | undefined> => {
  if (compare === undefined) return undefined
  if (!/^https?:\/\//i.test(compare)) return embeddedConfig({ data: compare }, given.terminal)
  if (into !== undefined) fail('usage', '--compare with an address cannot be used with --into.')
  return modelsOfService(await clientOf({ ...options, address: compare }, given), stop)
}

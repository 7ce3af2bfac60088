import type { Config } from '../../config/load.ts'
import { compileFlag } from '../../evaluation/compile.ts'
import { projections, resources } from '../../projections/all.ts'
import { erasures as erasureModel, erasureStore } from '../../projections/erasures.ts'
import { flagStore } from '../../projections/flag-memory/flag-store.ts'
import { quarantinedDocuments } from '../../projections/flag-memory/quarantined-documents.ts'
import { lives as incarnationModels, incarnationStore } from '../../projections/history/incarnations.ts'
import type { AnyProjection } from '../../projections/projection.ts'
import { tokenIndex } from '../../projections/token-memory/token-index.ts'
import { type TokenDoc, tokens } from '../../projections/tokens.ts'
import type { Row } from '../../projections/views.ts'
import type { Logger } from '../telemetry/logger.ts'

const UNREADABLE =
  'this version cannot read an event; requests for its flag, segment or token get 503 event_unreadable; start the version of rollcall that wrote the event, or a later version; an unreadable token can be revoked'

/** Memory of one read model; `recall` returns a row, if memory has complete rows. */
type Keeper = {
  readonly remember: (row: Row) => void
  readonly recall?: (key: string) => Row | undefined
}
const livesNames = new Set(incarnationModels.map(({ name }) => name))

/**
 * Memory of this instance. `remember` stores a row in the memory of its read model, and `recall` finds it there.
 * `onErased` receives destroyed keys.
 */
export const memoryOf = (config: Config, logger: Logger, onErased: (keys: readonly string[]) => unknown) => {
  const index = tokenIndex(config.tokens.index_size)
  const flags = flagStore(compileFlag)
  const lives = incarnationStore()
  const erasures = erasureStore(onErased)
  const closed = quarantinedDocuments(resources, (event) => logger.error(event, UNREADABLE))
  const keepers = new Map<string, Keeper>(
    projections.map(({ name }) => {
      if (name === tokens.name) return [name, { remember: (row) => index.remember(row as Row<TokenDoc>) }]
      const store = livesNames.has(name) ? lives : name === erasureModel.name ? erasures : flags
      return [name, { remember: (row) => store.set(name, row), recall: (key) => store.row(name, key) }]
    }),
  )
  const remember = (projection: AnyProjection, row: Row) => {
    if (resources.includes(projection)) closed.take(projection, row)
    keepers.get(projection.name)!.remember(row)
  }
  const recall = ({ name }: AnyProjection) => keepers.get(name)!.recall
  return { index, flagStore: flags, lives, erasures, closed, remember, recall }
}

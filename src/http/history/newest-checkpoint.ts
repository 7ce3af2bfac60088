import { viewBehind } from '../../as-of/reads.ts'
import { Refusal, refuse } from '../../base/errors.ts'
import type { KeptCheckpoint } from '../../ledger/ledger-store.ts'
import type { HistoryService } from '../services/history.ts'

type Served = Pick<HistoryService, 'ledger' | 'log'>

/** Refuses because the log has no ledger yet. */
export const ledgerNotBegun = (): never => {
  throw new Refusal('view_behind', 'ledger has not begun', { headers: { 'retry-after': '1' } })
}

/** Refuses because there is no checkpoint: with `view_behind` while the tree is built, else with `ledger_suspended`. */
const noCheckpoint = async ({ ledger, log }: Served): Promise<never> => {
  const isBlocked = ledger.state() === 'suspended' || ledger.state() === 'diverged'
  return isBlocked ? refuse('ledger_suspended') : viewBehind(await log.head())
}

/** Returns the newest checkpoint, also one that the log does not extend. If none exists, makes one (api.md §17.3). */
export const newestCheckpoint = async (service: Served): Promise<KeptCheckpoint> => {
  const { ledger } = service
  if (!ledger.served()) await ledger.sealNow()
  return ledger.served() ?? noCheckpoint(service)
}

/**
 * Returns the newest checkpoint if it has at least this size and the log extends it. Otherwise makes a new checkpoint.
 * Refuses while the log is not compared, or differs.
 */
export const extendedCheckpoint = async (service: Served, atLeast = 1): Promise<KeptCheckpoint> => {
  const { ledger } = service
  const isEnough = (found: KeptCheckpoint | undefined) => found !== undefined && found.size >= atLeast
  if (!isEnough(ledger.extended())) await ledger.sealNow()
  const found = ledger.extended()
  return isEnough(found) ? found! : noCheckpoint(service)
}

/** Returns a checkpoint of at least the events that the log had at the call. */
export const sealedNow = async (service: Served): Promise<KeptCheckpoint> => {
  const { ledger } = service
  const size = await ledger.sealNow()
  const found = ledger.extended()
  return found && size !== undefined && found.size >= size ? found : noCheckpoint(service)
}

/**
 * Waits until the tree of this instance has at least this size. A checkpoint from a different instance may be larger
 * than the tree of this instance.
 */
export const insistOnSize = async (service: Served, size: number): Promise<void> => {
  if (!(await service.ledger.reaches(size))) await noCheckpoint(service)
}

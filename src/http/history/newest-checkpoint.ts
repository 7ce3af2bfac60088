import { viewBehind } from '../../as-of/view-behind.ts'
import { Refusal, refuse } from '../../errors.ts'
import type { KeptCheckpoint } from '../../ledger/ledger-store.ts'
import type { Service } from '../services/service.ts'

type Served = Pick<Service, 'ledger' | 'log'>

/** Refuses because the log has no ledger yet. */
export const ledgerNotBegun = (): never => {
  throw new Refusal('view_behind', 'ledger has not begun', { headers: { 'retry-after': '1' } })
}

/** Refuses because there is no checkpoint: with `view_behind` while the tree is built, else with `ledger_suspended`. */
const noCheckpoint = async ({ ledger, log }: Served): Promise<never> => {
  const isBlocked = ledger.state() === 'suspended' || ledger.state() === 'diverged'
  return isBlocked ? refuse('ledger_suspended') : viewBehind(await log.head())
}

/** Returns the newest checkpoint of at least this size. If none exists, makes a new checkpoint (api.md §17.3). */
export const newestCheckpoint = async (service: Served, atLeast = 1): Promise<KeptCheckpoint> => {
  const { ledger } = service
  const isEnough = (served: KeptCheckpoint | undefined) => served !== undefined && served.size >= atLeast
  if (!isEnough(ledger.served())) await ledger.sealNow()
  const served = ledger.served()
  return isEnough(served) ? served! : noCheckpoint(service)
}

/** Returns a checkpoint of at least the events that the log had at the call. */
export const sealedNow = async (service: Served): Promise<KeptCheckpoint> => {
  const size = await service.ledger.sealNow()
  const served = service.ledger.served()
  return served && size !== undefined && served.size >= size ? served : noCheckpoint(service)
}

/**
 * Waits until the tree of this instance has at least this size. A checkpoint from a different instance may be larger
 * than the tree of this instance.
 */
export const insistOnSize = async ({ ledger, log }: Served, size: number): Promise<void> => {
  if (!(await ledger.reaches(size))) viewBehind(await log.head())
}

import type { FlagWithUsage } from '../../contract/flags/flag.ts'
import type { FlagDoc } from '../../projections/flags.ts'
import { flagUseId, snapshotUseId } from '../evaluation/last-evaluations.ts'
import type { FlagServices } from '../services/flags.ts'
import type { Looked } from './list-page.ts'

type Recorded = Pick<FlagServices, 'evaluations'>
type Created = Pick<FlagDoc, 'order'>
type OfNamespace = { readonly key: string; readonly incarnation: string }

/** Moment of a past state; undefined for the present. */
const momentOf = async (view: Looked): Promise<Date | undefined> =>
  'clock' in view ? new Date(await view.clock()) : undefined

/**
 * Returns a lookup of the hours in which these flags were last evaluated. If the records cannot be read, the lookup
 * returns undefined; with `insist` it is refused with `backend_unavailable`.
 */
export const evaluationHours = async (
  { evaluations }: Recorded,
  view: Looked,
  flags: readonly Created[],
  insist = false,
): Promise<(flag: Created) => string | undefined> => {
  const read = insist ? evaluations.lastOfOrRefuse : evaluations.lastOf
  const last = await read(flags.map(flagUseId), await momentOf(view))
  return (flag) => last.get(flagUseId(flag))
}

/** Like `evaluationHours`, for the last fetches of the snapshots of namespaces. */
export const snapshotHours = async (
  { evaluations }: Recorded,
  view: Looked,
  namespaces: readonly OfNamespace[],
): Promise<(namespace: OfNamespace) => string | undefined> => {
  const last = await evaluations.lastOf(namespaces.map(snapshotUseId), await momentOf(view))
  return (namespace) => last.get(snapshotUseId(namespace))
}

/** Hour of the last fetch of the snapshot of a namespace. Refuses like `usageOf`. */
export const fetchHour = async (
  { evaluations, flagStore }: Recorded & Pick<FlagServices, 'flagStore'>,
  view: Looked,
  key: string,
): Promise<string | undefined> => {
  const life = 'clock' in view ? (await view.namespace(key))?.doc.incarnation : flagStore.life(key)
  if (life === undefined) return undefined
  const id = snapshotUseId({ key, incarnation: life })
  return (await evaluations.lastOfOrRefuse([id], await momentOf(view))).get(id)
}

/**
 * Hours of the last evaluation of a flag and of the last fetch of the snapshot of its namespace, each absent if unknown.
 * Refuses with `backend_unavailable` if the records cannot be read.
 */
export const usageOf = async (
  { evaluations }: Recorded,
  view: Looked,
  flag: Pick<FlagDoc, 'order' | 'namespace' | 'incarnation'>,
): Promise<Pick<FlagWithUsage, 'lastEvaluatedAt' | 'snapshotFetchedAt'>> => {
  const [own, shared] = [flagUseId(flag), snapshotUseId({ key: flag.namespace, incarnation: flag.incarnation })]
  const last = await evaluations.lastOfOrRefuse([own, shared], await momentOf(view))
  const [lastEvaluatedAt, snapshotFetchedAt] = [last.get(own), last.get(shared)]
  return {
    ...(lastEvaluatedAt !== undefined && { lastEvaluatedAt }),
    ...(snapshotFetchedAt !== undefined && { snapshotFetchedAt }),
  }
}

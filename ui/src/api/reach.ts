import { storeOf } from '../store.ts'

/** State of the service: it answers, it does not answer, or it cannot prove that its data is current. */
const reach = storeOf<'reached' | 'away' | 'stale'>('reached')

/** Stores the state that the last request showed, and notifies subscribers. */
export const noteReach = reach.set
export const useReach = reach.use

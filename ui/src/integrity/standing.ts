import { useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { EVERY, holds, useAccess } from '../api/access.ts'
import { isFailure } from '../api/failure.ts'
import { keys } from '../api/keys.ts'
import { type LedgerStatus, readLedger } from '../api/ledger.ts'
import { messageOf } from '../parts/feedback/alert.tsx'
import { states } from '../words/common.ts'
import { integrity as words } from '../words/integrity.ts'
import { type Remembered, seen, useRemembered } from './remembered.ts'
import type { Verdict } from './verify.ts'

/** Age at which the state is read again when a page opens. */
const OLD_MS = 60_000

/**
 * Integrity of the history as this browser sees it. `broken`: by the service's report or this browser's check; `index`
 * is the first event that can be affected. `other`: signed by another key than the one that this browser saw first.
 */
export type Standing =
  | { readonly kind: 'verified' | 'sealed' | 'suspended' | 'building' | 'other' }
  | { readonly kind: 'broken'; readonly by: 'service' | 'browser'; readonly index?: number | undefined }
  | { readonly kind: 'unknown'; readonly why: string }

/** Word of a standing. */
export const wordOf = (standing: Standing): string =>
  standing.kind === 'broken' ? words.state.broken(standing.index) : words.state[standing.kind]

/** Sentence that explains a standing. */
export const whyOf = (standing: Standing): string => {
  if (standing.kind === 'unknown') return standing.why
  if (standing.kind === 'broken') return words.why[standing.by === 'service' ? 'diverged' : 'broken']
  return words.why[standing.kind]
}

/** Returns the standing by the report of the service alone, which never is `verified`. */
const reported = ({ state, sealed, scrub }: LedgerStatus): Standing => {
  if (state === 'diverged') return { kind: 'broken', by: 'service', index: scrub.firstBad?.index }
  if (state !== 'ok') return { kind: state }
  return sealed ? { kind: 'sealed' } : { kind: 'unknown', why: words.nothingSealed }
}

/** Returns the standing by the report of the service and the checks of this browser; a break outweighs all else. */
const standingOf = (status: LedgerStatus, known: Remembered | undefined, newest: Verdict | undefined): Standing => {
  if (known?.broken) return { kind: 'broken', by: 'browser', index: known.broken.index }
  const isListed = known === undefined || status.keys.some(({ vkey }) => vkey === known.vkey)
  if (known?.other !== undefined || !isListed || newest?.kind === 'other') return { kind: 'other' }
  const by = reported(status)
  if (by.kind === 'broken') return by
  if (newest?.kind === 'broken') return { kind: 'broken', by: 'browser', index: newest.broken.index }
  return by.kind === 'sealed' && newest?.kind === 'verified' ? { kind: 'verified' } : by
}

/** Reads the state of the ledger, at most once a minute when pages open. */
const useLedger = (enabled: boolean) => {
  const { data, error, dataUpdatedAt, refetch } = useQuery({
    queryKey: keys.ledger,
    queryFn: async ({ signal }) => {
      const status = await readLedger(signal)
      seen(status)
      return status
    },
    staleTime: OLD_MS,
    enabled,
  })
  const { pathname } = useLocation()
  useEffect(() => {
    if (pathname !== '' && dataUpdatedAt > 0 && Date.now() - dataUpdatedAt > OLD_MS) void refetch()
  }, [pathname, dataUpdatedAt, refetch])
  return { status: data, error }
}

/** Checks the newest checkpoint against the tree that this browser verified last; undefined if it verified none. */
const useNewest = (status: LedgerStatus | undefined, known: Remembered | undefined): Verdict | undefined => {
  const { data } = useQuery({
    queryKey: [...keys.ledger, 'newest', known?.vkey, known?.verified?.root, status?.sealed?.root],
    queryFn: async ({ signal }) => (await import('./check-newest.ts')).checkNewest(status!, signal),
    enabled: status?.sealed !== undefined && known?.verified !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return data
}

/** Returns the standing of the history, undefined until it is known, and the report of the service. */
export const useStanding = (): {
  readonly standing: Standing | undefined
  readonly status: LedgerStatus | undefined
} => {
  const { access, settled } = useAccess()
  const needed = { right: 'audit.read', namespaceKey: EVERY }
  const mayRead = access !== undefined && holds(access, needed)
  const known = useRemembered()
  const { status, error } = useLedger(mayRead)
  const newest = useNewest(status, known)
  if (status) return { status, standing: standingOf(status, known, newest) }
  const broken = known?.broken
  if (broken) return { status, standing: { kind: 'broken', by: 'browser', index: broken.index } }
  if (access && !mayRead) return { status, standing: { kind: 'unknown', why: states.missing(needed) } }
  if (isFailure(error)) return { status, standing: { kind: 'unknown', why: words.notRead(messageOf(error)) } }
  return { status, standing: settled && !access ? { kind: 'unknown', why: words.notAsked } : undefined }
}

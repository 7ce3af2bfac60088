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

/** Integrity of the history as this browser sees it. `other`: signed by another key than the one it saw first. */
export type Standing = {
  readonly kind: keyof typeof words.state
  /** Sentence that explains it. */
  readonly why: string
  /** First event that a break can affect. */
  readonly index?: number | undefined
}

/** Word of a standing. */
export const wordOf = ({ kind, index }: Standing): string =>
  kind === 'broken' ? words.state.broken(index) : words.state[kind]

/** Returns the standing by the report of the service and the checks of this browser; a break outweighs all else. */
const standingOf = (
  { state, sealed, scrub, keys }: LedgerStatus,
  known: Remembered | undefined,
  newest: Verdict | undefined,
): Standing => {
  const { why } = words
  if (known?.broken) return { kind: 'broken', why: why.broken, index: known.broken.index }
  const isListed = known === undefined || keys.some(({ vkey }) => vkey === known.vkey)
  if (known?.other !== undefined || !isListed || newest?.kind === 'other') return { kind: 'other', why: why.other }
  if (state === 'diverged') return { kind: 'broken', why: why.diverged, index: scrub.firstBad?.index }
  if (newest?.kind === 'broken') return { kind: 'broken', why: why.broken, index: newest.broken.index }
  if (state !== 'ok') return { kind: state, why: why[state] }
  if (!sealed) return { kind: 'unknown', why: words.nothingSealed }
  const kind = newest?.kind === 'verified' ? 'verified' : 'sealed'
  return { kind, why: why[kind] }
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

/** Returns the standing of the history, undefined until it is known, and the report of the service. */
export const useStanding = (): { readonly standing?: Standing | undefined; readonly status?: LedgerStatus } => {
  const { access, settled } = useAccess()
  const needed = { right: 'audit.read', namespaceKey: EVERY }
  const mayRead = access !== undefined && holds(access, needed)
  const known = useRemembered()
  const { status, error } = useLedger(mayRead)
  // Checks the newest checkpoint against the tree that this browser verified last.
  const { data: newest } = useQuery({
    queryKey: [...keys.ledger, 'newest', known?.vkey, known?.verified?.root, status?.sealed?.root],
    queryFn: async ({ signal }) => (await import('./check-newest.ts')).checkNewest(status!, signal),
    enabled: status?.sealed !== undefined && known?.verified !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (status) return { status, standing: standingOf(status, known, newest) }
  if (known?.broken) return { standing: { kind: 'broken', why: words.why.broken, index: known.broken.index } }
  if (access && !mayRead) return { standing: { kind: 'unknown', why: states.missing(needed) } }
  if (isFailure(error)) return { standing: { kind: 'unknown', why: words.notRead(messageOf(error)) } }
  return { standing: settled && !access ? { kind: 'unknown', why: words.notAsked } : undefined }
}
